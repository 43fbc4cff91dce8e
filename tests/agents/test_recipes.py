"""The recipes for programs as minds work as written, and the protocol on their first page is the real one."""

import ast
import json
import re
from pathlib import Path

import pytest

from agents.external import MOST_STARTS, PASSED_ON, Exec
from agents.wire import ANSWERS, DUTIES, parse_answer, schema
from swarm.running.running import RunResult, run

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "docs" / "recipes"
README = (RECIPES / "README.md").read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (RECIPES / page).read_text("utf-8"), re.DOTALL)


def ran(folder: Path, page: str, files: dict[str, str]) -> RunResult:
    """Return how the scenario of *page* ends, with *files* beside it."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "scenario.yaml").write_text(blocks(page, "yaml")[0], encoding="utf-8")
    result = run(folder / "scenario.yaml", memory=True)
    assert [f for f in result.plain()["findings"] if f["code"] in ("excused", "silent", "late")] == []
    return result


def test_the_shell_recipe_runs(tmp_path: Path) -> None:
    """Protects who copies it: a mind in sh takes part to agreement."""
    assert ran(tmp_path, "shell.md", {"buyer.sh": blocks("shell.md", "sh")[0]}).outcome == "agreed"


def test_the_python_recipe_runs(tmp_path: Path) -> None:
    """Protects who copies it: the loop and the mind of the page take part, and the limit decides."""
    loop, mind = blocks("python.md", "python")
    result = ran(tmp_path, "python.md", {"duties.py": loop, "buyer.py": mind})
    assert result.decision is not None
    assert 600 <= result.decision.option.offer["price"] <= 700


def test_the_question_to_a_language_model_holds_the_form_and_the_duty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the recipes for frameworks: what their model is asked names every form that its answer needs."""
    (tmp_path / "duty.schema.json").write_text(json.dumps(schema()))
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    exec(blocks("python.md", "python")[0], namespace)
    text = namespace["prompt"]({"id": 4, "act": "propose", "issues": {}})  # type: ignore[operator]
    assert '"id": 4' in text
    for form in ("ProposeAnswer", "Option", "CommitmentTerms"):
        assert f'"{form}": {{' in text
    assert "ScoreAnswer" not in text


@pytest.mark.parametrize("page", sorted(path.name for path in RECIPES.glob("*.md") if path.name != "README.md"))
def test_every_recipe_is_listed_and_says_whether_it_is_run(page: str) -> None:
    """Protects readers: what the suite does not run is marked so, and its code at least parses."""
    text = (RECIPES / page).read_text("utf-8")
    assert f"]({page})" in README
    assert ("Run by the test suite" in text) != ("Not run by the test suite" in text)
    for code in blocks(page, "python"):
        ast.parse(code)


def test_the_exchange_shown_is_in_the_protocol() -> None:
    """Protects who reads one page only: each line shown is a duty, or its answer, in today's form."""
    said = re.findall(r"^([→←]) (.*)$", README, re.MULTILINE)
    assert len(said) >= 8
    duties = [json.loads(line) for arrow, line in said if arrow == "→"]
    for duty, (_, answer) in zip(duties, [pair for pair in said if pair[0] == "←"], strict=True):
        plain = {key: value for key, value in duty.items() if key != "id"}
        asked = DUTIES[duty["act"]].model_validate(plain)
        assert asked.model_dump(mode="json", by_alias=True) == plain
        parse_answer(duty["act"], answer, duty["id"])


def test_the_page_names_what_there_is() -> None:
    """Protects the tables: every act, every field of the file, every variable passed on."""
    assert re.findall(r"^\| `([a-z]+)` \|", README, re.MULTILINE) == list(ANSWERS)
    for name in (*Exec.model_fields, *PASSED_ON):
        assert re.search(rf"\b{name}\b", README), name
    assert MOST_STARTS == 4
    assert "four starts" in README
