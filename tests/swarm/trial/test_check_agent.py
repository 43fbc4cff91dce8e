"""`swarm check-agent`: the report tells minds apart by what they did, whatever they do."""

import json
import re
import subprocess
import sys
import textwrap
import types
import typing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from protocols.core.message import Message
from swarm.errors import BadInput
from swarm.files.document import load
from swarm.trial import report as reports
from swarm.trial.check import check_agent
from swarm.trial.report import Report, lines
from swarm.trial.stage import ACTS
from swarm.trial.trials import TEMPTATIONS

ROOT = Path(__file__).resolve().parents[3]
COMMANDED = str(Path(__file__).resolve().parents[2] / "support" / "commanded.py")
SWARM = str(Path(sys.executable).with_name("swarm"))
SCRIPT = {
    "agent": "scripted",
    "proposes": {"title": "Mine", "offer": {"discount": 10, "years": 2, "support": "standard"}},
    "scores": {"otherwise": 60},
}


def written(folder: Path, agent: dict[str, Any]) -> Path:
    path = folder / "agent.json"
    path.write_text(json.dumps(agent), encoding="utf-8")
    return path


def commanded(folder: Path, *kind: str, **more: Any) -> Path:
    return written(folder, {"agent": "exec", "command": [sys.executable, COMMANDED, *kind], **more})


def verdicts(report: Report) -> dict[str, str]:
    return {tempted.trial: tempted.verdict for tempted in report.temptations}


def only(report: Report, act: str = "ratify") -> reports.Straight:
    (asked,) = [each for each in report.straight if each.act == act]
    return asked


TEMPTING = ("read", "score", "improve", "perform")


def test_a_gullible_mind_and_a_steady_one_are_told_apart(tmp_path: Path) -> None:
    """Protects the purpose: every temptation that one gives way to and the other does not shows in the report."""

    def tried(kind: str) -> Report:
        (tmp_path / kind).mkdir()
        return check_agent(commanded(tmp_path / kind, kind), only=TEMPTING, seconds=20)

    with ThreadPoolExecutor() as both:
        gullible, steady = both.map(tried, ("gullible", "steady"))
    # Whether a process starts within two seconds is this machine's affair.
    names = {temptation.name for temptation in TEMPTATIONS} - {"deadline"}
    assert verdicts(gullible).items() >= dict.fromkeys(names, "gave_way").items()
    assert verdicts(steady).items() >= dict.fromkeys(names, "held").items()
    by_name = {tempted.trial: tempted for tempted in gullible.temptations}
    assert re.fullmatch(r"\"engineer's offer\": \d+ without the order, 100 with it", by_name["order"].evidence)
    for name, problem in (("unasked-id", "no such option"), ("unlisted-value", "is not one of")):
        assert problem in by_name[name].sent_back[0]
    assert by_name["unasked-id"].outcome == "answered"  # Told what was wrong, it did better.
    assert by_name["unlisted-value"].outcome == "invalid"  # And here it did not, so that its peer excused it.
    assert all(asked.peer_held for asked in [*gullible.straight, *gullible.temptations])
    assert steady.cost.tokens_in == 7 * steady.cost.calls > 0
    assert "gave way" in "\n".join(lines(gullible))


def test_a_script_and_points_are_tried_on_all_that_they_fit(tmp_path: Path) -> None:
    """Protects owners of simple minds: every act is answered, twice the same, and a script is not read for numbers."""
    report = check_agent(written(tmp_path, SCRIPT), seconds=20)
    assert [asked.act for asked in report.straight] == list(ACTS)
    assert {asked.outcome for asked in report.straight} == {"answered"}
    assert (report.summary.asked_twice, report.summary.same_answer) == (len(ACTS), len(ACTS))
    assert [(each.trial, each.why) for each in report.not_tested] == [
        ("number", "a script scores by title, whatever the numbers")
    ]
    assert verdicts(report)["short-report"] == "gave_way"  # It confirms whatever is reported.
    assert verdicts(report)["order"] == "held"


def test_points_for_other_issues_are_tested_where_a_scenario_has_them(tmp_path: Path) -> None:
    """Protects from figures that mean nothing: what a file cannot be asked here is named; a scenario makes it fit."""
    file = written(tmp_path, {"agent": "utility", "values": {"price": {"10": 60}}})
    report = check_agent(file, only=["score", "ratify"], seconds=20)
    assert [asked.act for asked in report.straight] == ["ratify"]
    assert {each.trial for each in report.not_tested} == {"score", *(t.name for t in TEMPTATIONS if t.act == "score")}
    assert report.not_tested[0].why == "it has points for price; the issues are discount, support, years"
    assert "--scenario" in report.notes[0]
    file.write_text(json.dumps({"agent": "utility", "values": {"discount": {"12": 60, "15": 70, "20": 90}}}))
    report = check_agent(file, only=["score"], scenario=ROOT / "examples/renewal.yaml", member="legal", seconds=20)
    assert not report.not_tested
    assert "20% and a named engineer: 90" in only(report, "score").short
    assert verdicts(report)["number"] == "held"


def test_a_script_of_a_scenario_is_tried_in_its_room(tmp_path: Path) -> None:
    """Protects scripts: in the room that they are written for, the others put up the options that they know."""
    scenario = ROOT / "examples/renewal.yaml"
    (legal,) = [dict(m) for m in load(scenario).data["members"] if m["name"] == "legal"]
    del legal["name"], legal["performs"]
    file = tmp_path / "legal.json"
    file.write_text(json.dumps(legal))
    alone = check_agent(file, only=["score"], seconds=20)
    assert {each.why for each in alone.not_tested} >= {"it has no score for \"buyer's offer\", and no 'otherwise'"}
    assert not alone.straight
    report = check_agent(file, only=["score", "interpret"], scenario=scenario, member="legal", seconds=20)
    assert "15% for three years: 62" in only(report, "score").short
    assert set(only(report, "interpret").answer) == {"task", "aggressive", "renewal", "list price"}


@pytest.mark.parametrize(
    ("kind", "outcome", "because"),
    [
        ("excused", "excused", "not this one"),
        ("garbage", "failed", "its line is no answer to ratify"),
        ("crash", "failed", "it ended with code 3"),
        ("hang", "late", "no answer to ratify within"),
        ("wrong", "invalid", "accept"),
    ],
)
def test_a_mind_that_does_not_answer_is_told_apart_by_how(
    tmp_path: Path, kind: str, outcome: str, because: str
) -> None:
    """Protects the check itself: it ends whatever a mind does and says what that was; the peer's excuse was in time."""
    # A command that ends is started again for as long as there is time: it has some, to fail for good.
    report = check_agent(commanded(tmp_path, kind), only=["ratify"], seconds=2 if kind == "hang" else 12)
    asked = only(report)
    assert (asked.outcome, asked.again, asked.same) == (outcome, outcome, None)
    assert because in (asked.because or "")
    assert asked.peer_held
    assert bool(asked.sent_back) == (kind == "wrong")


def test_a_class_that_blocks_and_one_that_raises(tmp_path: Path) -> None:
    """Protects the check from minds in its own process."""
    (tmp_path / "classes_on_trial.py").write_text(
        textwrap.dedent("""
            import asyncio, time
            from agents import Agent
            from agents.agent import Scored

            class Blocks(Agent):
                def ratify(self, duty):
                    time.sleep(4)

            class Raises(Agent):
                async def ratify(self, duty):
                    raise ZeroDivisionError("by zero")

            class TakesItsTime(Agent):
                async def score(self, duty):
                    await asyncio.sleep(0 if float(duty.left.seconds) > 2 else 9)
                    return Scored({asked.id: 60 for asked in duty.options})
        """)
    )
    for name, outcome in (("Blocks", "late"), ("Raises", "failed")):
        file = written(tmp_path, {"agent": f"classes_on_trial:{name}", "folder": str(tmp_path)})
        asked = only(check_agent(file, only=["ratify"], seconds=2))
        assert (asked.outcome, asked.peer_held) == (outcome, True)
    file = written(tmp_path, {"agent": "classes_on_trial:TakesItsTime", "folder": str(tmp_path)})
    (hurried,) = [t for t in check_agent(file, only=["score"], seconds=20).temptations if t.trial == "deadline"]
    assert (hurried.outcome, hurried.verdict, hurried.peer_held) == ("late", "gave_way", True)
    assert hurried.evidence.startswith("late, its peer held: late: it gave no answer in time")


def test_what_is_asked_twice_and_answered_otherwise_is_a_figure(tmp_path: Path) -> None:
    """Protects comparisons: whether a mind repeats itself is counted, not judged."""
    report = check_agent(commanded(tmp_path, "moody"), only=["ratify"], seconds=20)
    assert (only(report).same, report.summary.asked_twice, report.summary.same_answer) == (False, 1, 0)


def test_the_same_duty_asked_twice_is_the_same(tmp_path: Path) -> None:
    """Protects the figure: two rooms of one duty differ in their times alone, whatever was drawn by lot in them."""
    asked = tmp_path / "sees_on_trial.py"
    asked.write_text(
        textwrap.dedent("""
            from agents import Agent
            from agents.agent import Ratified

            seen = []

            class Sees(Agent):
                async def ratify(self, duty):
                    seen.append(duty)
                    return Ratified(True)

                async def improve(self, duty):
                    seen.append(duty)
        """)
    )
    for act in ("improve", "ratify"):
        check_agent(written(tmp_path, {"agent": "sees_on_trial:Sees", "folder": str(tmp_path)}), only=[act], seconds=20)
        first, second = [
            duty.model_dump(exclude={"deadline", "left"}) for duty in sys.modules["sees_on_trial"].seen[:2]
        ]
        sys.modules["sees_on_trial"].seen.clear()
        assert first == second


def test_the_mandate_holds_on_trial(tmp_path: Path) -> None:
    """Protects what is signed: the file's own mandate is in force, and what it cannot show here is noted."""
    mandate = {"offers": {"discount": {"max": 5, "unit": "%"}, "price": {"max": 9}}, "approve": ["ratify"]}
    report = check_agent(commanded(tmp_path, "steady", mandate=mandate), only=["propose", "ratify"], seconds=20)
    asked = only(report, "propose")
    assert asked.outcome == "outside_mandate"
    assert asked.because == "outside your mandate: offers.discount: 20 is above 5"
    assert asked.sent_back == ["outside your mandate: offers.discount: 20 is above 5"]
    assert any("price" in note for note in report.notes)
    assert any("approve" in note for note in report.notes)


def test_a_mind_is_asked_what_is_on_trial_and_nothing_else(tmp_path: Path) -> None:
    """Protects the purse, and the likeness: a fresh mind a room, told what a peer tells it, and asked one thing."""
    asked = tmp_path / "asked"
    check_agent(commanded(tmp_path, "steady", str(asked)), only=["score"], seconds=20)
    lines_ = [line.split() for line in asked.read_text().splitlines()]
    rooms = 2 + sum(3 if t.name == "number" else 1 for t in TEMPTATIONS if t.act == "score")
    assert len(lines_) == len({process for process, *_ in lines_}) == rooms
    assert {tuple(rest) for _, *rest in lines_} == {("score", "True", "True")}


# -- the command ------------------------------------------------------------------------------------------------------


def swarm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [SWARM, "check-agent", *arguments], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )


def test_json_is_one_object_of_the_documented_shape(tmp_path: Path) -> None:
    """Protects programs that compare minds: fields are those of the models, and the page names each of them."""
    done = swarm(str(written(tmp_path, SCRIPT)), "--only", "read", "--only", "quote", "--json")
    assert done.returncode == 0, done.stderr
    assert "read: answered" in done.stderr
    plain = json.loads(done.stdout)
    report = Report.model_validate_json(done.stdout)
    assert report.json_object() == plain
    page = (ROOT / "docs/check-agent.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE))
    assert documented == _fields(Report)


def _fields(model: Any) -> set[str]:
    """Return the names of all fields of *model* and of the models in it."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        names.add(name)
        for kind in (field.annotation, *typing.get_args(field.annotation)):
            if isinstance(kind, type) and not isinstance(kind, types.GenericAlias) and issubclass(kind, Message):
                names |= _fields(kind)
    return names


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"only": ["juggle"]}, "'juggle' is no act; valid: join, interpret"),
        ({"seconds": 1}, "2 to 3600 are valid"),
        ({"scenario": ROOT / "examples/renewal.yaml"}, "--scenario FILE --as NAME"),
        ({"scenario": ROOT / "examples/renewal.yaml", "member": "no"}, "valid: sales, finance, success, legal"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_tried(
    tmp_path: Path, options: dict[str, Any], complaint: str
) -> None:
    """Protects users: one message, with what is valid."""
    with pytest.raises(BadInput) as caught:
        check_agent(written(tmp_path, SCRIPT), **options)
    assert complaint in str(caught.value)


def test_bad_input_ends_with_2(tmp_path: Path) -> None:
    """Protects scripts around the command: exit 2, nothing on stdout, no traceback."""
    done = swarm(str(written(tmp_path, SCRIPT)), "--only", "juggle")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("swarm: --only: 'juggle' is no act")


def test_an_agent_file_that_is_none(tmp_path: Path) -> None:
    """Protects users: a file of another kind is named as such before anything is tried."""
    with pytest.raises(BadInput):
        check_agent(written(tmp_path, {"agent": "scripted", "name": "ann"}))


def test_the_page_shows_what_the_code_prints(tmp_path: Path) -> None:
    """Protects readers: the sample is made of the file above it; only the seconds differ."""
    page = (ROOT / "docs/check-agent.md").read_text("utf-8")
    (yaml,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (sample,) = re.findall(r"```\n(agent .*?)```", page, re.DOTALL)
    path = tmp_path / "ben.yaml"
    path.write_text(yaml, encoding="utf-8")
    shown = "\n".join(lines(check_agent(path)))
    assert _untimed(shown).split() == _untimed(sample).split()


def _untimed(text: str) -> str:
    return re.sub(r"\d+\.\d s", "0.0 s", text)
