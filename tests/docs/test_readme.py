"""What the README, and the pages that continue it, tell people to write works as written."""

import re
from pathlib import Path

import pytest

from swarm.cli.verbs import VERBS
from swarm.running.running import run
from swarm.scenario.scenario import read_scenario

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SCENARIOS = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
COMMANDS = (ROOT / "docs" / "commands.md").read_text("utf-8")


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_smallest_scenario_runs(tmp_path: Path) -> None:
    """Protects newcomers: the scenario they copy is valid and ends in an agreement that carries its difference."""
    path = tmp_path / "lunch.yaml"
    path.write_text(blocks("yaml")[0])
    result = run(path, memory=True)
    assert result.outcome == "agreed"
    assert [d.term for d in result.divergences] == ["close"]


def test_the_agent_of_ones_own_runs(tmp_path: Path) -> None:
    """Protects newcomers: the class they copy is found beside the scenario and takes part."""
    code, member = blocks("python")[0], blocks("yaml")[1]
    (tmp_path / "cheapest.py").write_text(code)
    path = tmp_path / "deal.yaml"
    path.write_text(
        "room: deal\nintent: Agree on a price.\nagenda: [concord]\n"
        "issues: {price: {from: 1000, to: 5000, step: 1000}}\nmembers:\n"
        f"{member}"
        "  - name: seller\n    agent: utility\n    values: {price: {3000: 50, 4000: 70, 5000: 90}}\n"
    )
    result = run(path, memory=True)
    assert result.outcome == "agreed", result.reason


def test_every_example_named_exists_and_every_example_is_named() -> None:
    """Protects the table of examples."""
    named = set(re.findall(r"examples/[a-z-]+\.yaml", SCENARIOS))
    assert named == {f"examples/{path.name}" for path in (ROOT / "examples").glob("*.yaml")}
    for name in named:
        read_scenario(ROOT / name)


def test_every_verb_is_listed() -> None:
    """Protects the table of commands: it lists exactly what the command line can do."""
    listed = re.findall(r"^\| `([a-z-]+)` \|", COMMANDS, re.MULTILINE)
    assert len(listed) == len(VERBS) and set(listed) == set(VERBS)


def test_the_calls_from_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects who copies them: the calls on the page run as written, on an example that is there."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(blocks("python", COMMANDS)[0], {})
    assert (tmp_path / "renewal.jsonl").is_file()


def test_the_readme_is_short_and_starts_with_what_to_type() -> None:
    """Protects the first look: the commands to start with stand at the top, and the rest is on other pages."""
    lines = README.splitlines()
    assert len(lines) <= 130
    assert {"pip install", "swarm demo", "make demo"} <= {
        word for line in lines[:27] for word in ("pip install", "swarm demo", "make demo") if word in line
    }


def test_every_link_leads_somewhere() -> None:
    """Protects readers of all documents: relative links point at files that exist."""
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
