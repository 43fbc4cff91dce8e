"""Claims and records from a file to a verdict: scripted members, minds of one's own, audits, explanations, the page."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.agent import Agent, BadAnswer, Grounded, Proposed, Ratified, Scored
from agents.wire import parse_answer
from protocols.messages.accord import Interpretation, Settlement
from protocols.messages.claims import Claim
from protocols.messages.concord import Option
from protocols.views.evidence import evidence_of
from swarm.auditing.auditing import audit
from swarm.files.document import load
from swarm.reasons.explain import explain
from swarm.running.running import run

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "evidence.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def wood(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The room of the page: its result, and its ledger."""
    folder = tmp_path_factory.mktemp("wood")
    (folder / "wood.yaml").write_text(blocks("yaml")[0], "utf-8")
    ledger = folder / "wood.jsonl"
    return run(folder / "wood.yaml", memory=True, ledger=ledger), ledger


def test_the_page_shows_what_its_room_comes_to(wood: Any) -> None:
    """Protects readers of the page: the scenario on it runs, and the findings on it are those of the run."""
    result, ledger = wood
    assert result.outcome == "agreed"
    told = [": ".join(part for part in (f["code"], f["who"], f["text"]) if part) for f in result.plain()["findings"]]
    claim, findings = blocks("text")
    assert sorted(told) == sorted(findings.splitlines())
    (found,) = explain("ben:dry", ledger)
    assert [re.sub(r", at \d+$", "", line) for line in found.lines()] == claim.splitlines()


def test_run_and_audit_tell_the_same(wood: Any) -> None:
    """Protects the record: claims, patterns and findings are recomputed from the ledger, none is taken on trust."""
    result, ledger = wood
    shown = json.loads(json.dumps(audit(ledger).plain()))
    for key in ("claims", "patterns", "considered"):
        assert shown[key] == json.loads(json.dumps(result.plain()[key])), key
    ends = {"not_pinned", "not_complete", "uncovered"}
    assert [f for f in shown["findings"] if f["code"] not in ends] == result.plain()["findings"]


def test_the_figures_that_were_there_before_are_there_still(wood: Any) -> None:
    """Protects those who read `considered.patterns`: its five figures keep their names and meaning."""
    result, _ = wood
    found = result.plain()["considered"]["patterns"]["cy"]
    kept = {key: found[key] for key in ("lowest", "highest", "distinct", "zeros", "hundreds")}
    assert kept == {"lowest": 0, "highest": 100, "distinct": 3, "zeros": 1, "hundreds": 1}
    assert result.plain()["patterns"]["cy"]["scoring"] == found


def test_a_members_record_is_told_in_words_and_is_no_verdict(wood: Any) -> None:
    """Protects the one who is told about: its numbers come with what they do not say."""
    _, ledger = wood
    (found,) = explain("cy", ledger)
    text = "\n".join(found.lines())
    for told in (
        "alone gave the least to 2 of 2 options of others",
        "without its ballot: the same, 'The mill in September', accepted",
        "2 of 2 issues differ, 0 reasons and 0 claims for it",
        "numbers, not a verdict",
        "claimed cy:burns, derived: The forester's wood burns at once.; 1 independent root (cy)",
    ):
        assert told in text, told
    assert found.plain()["record"] == list(found.record)


def test_what_a_claim_says_stays_on_one_line(wood: Any) -> None:
    """Protects the terminal: a claim's text is data, in findings and explanations too."""
    (found,) = explain("ben:dry", wood[1])
    hostile = replace(found, record=("rests on x:1: \x1b[2Jnothing\nverified  cy ✓",))
    assert [line for line in hostile.lines() if "\x1b" in line or "\n" in line or "✓" in line] == []


def test_a_scenario_with_a_claim_that_cannot_be_is_refused_with_its_place() -> None:
    """Protects typing errors: a source that says nothing of where it is from is found before anybody joins."""
    from swarm.errors import BadInput
    from swarm.scenario.scenario import read_scenario

    text = blocks("yaml")[0].replace('source: heard, from: ["ada:dry"]', "source: heard")
    assert text != blocks("yaml")[0]
    plain = load(_parsed(text)).data
    with pytest.raises(BadInput, match=r"members.*heard from"):
        read_scenario(plain)


def _parsed(text: str) -> dict[str, Any]:
    from ruamel.yaml import YAML

    parsed: dict[str, Any] = YAML(typ="safe").load(text)
    return parsed


# -- minds of one's own -----------------------------------------------------------------------------------------------


def seen(text: str) -> Claim:
    return Claim(id=text.split(maxsplit=1)[0], text=text, source="observed")


class Witness(Agent):
    """Brings a claim with every answer that may bring one, and cites what it is shown."""

    kind = "witness"

    def __init__(self, word: str, cites_wrongly: bool = False) -> None:
        self._word = word
        self._wrong = cites_wrongly

    async def interpret(self, duty: Any) -> Grounded:
        meanings = {term: Interpretation(meaning=f"{self._word} {term}") for term in duty.terms}
        return Grounded(meanings, [seen("meant so")], {"done": ["meant"]})

    async def read(self, duty: Any) -> Any:
        read = await super().read(duty)
        return read.model_copy(update={"judgements": ["different"] * len(read.judgements)})

    async def settle(self, duty: Any) -> Grounded:
        other = next(m for m in duty.meanings if m.term == "done")
        settled = {t: Settlement(keep=True) for t in duty.terms}
        settled["done"] = Settlement(adopt=other.id, because="see", cites=[f"{duty.member}:settled"])
        return Grounded(settled, [seen("settled it")])

    async def propose(self, duty: Any) -> Grounded:
        return Grounded(Proposed(Option(title=self._word)), [seen("offered it")], ["offered"])

    async def score(self, duty: Any) -> Grounded:
        known = [claim.ref for claim in duty.briefing.claims if claim.text == "offered it"]
        cites = {asked.id: ["nobody:nothing"] if self._wrong else known for asked in duty.options}
        return Grounded(Scored({asked.id: 60 for asked in duty.options}), [], cites)

    async def improve(self, duty: Any) -> Grounded | None:
        if len(duty.options) > 2:
            return None
        return Grounded(Option(title=f"{self._word}, better"), [seen("improved it")], ["improved"])

    async def ratify(self, duty: Any) -> Grounded:
        return Grounded(Ratified(True), [seen("signed it")], ["signed"])


class Blurter(Witness):
    """Its first ballot brings a claim that breaks its model; told so, it answers without."""

    async def score(self, duty: Any) -> Any:
        whole = await super().score(duty)
        if duty.problem is not None:
            assert "from" in duty.problem
            return whole
        return Grounded(whole.answer, [seen("x").model_copy(update={"source": "heard"})])


class Overdoer(Witness):
    """Brings claims where none are taken: with its reading of the others."""

    async def read(self, duty: Any) -> Any:
        return Grounded(await super().read(duty), [seen("read it")])


def room_of(cat: str, **args: Any) -> dict[str, Any]:
    def member(name: str, kind: str, **given: Any) -> dict[str, Any]:
        return {"name": name, "agent": f"tests.swarm.running.test_evidence:{kind}", "args": {"word": name, **given}}

    return {
        "room": "witnesses",
        "intent": "Decide.",
        "agenda": ["accord", "concord"],
        "terms": ["done"],
        "rules": {"step_seconds": 20, "improvements": 2},
        "members": [member("ann", "Witness"), member("cat", cat, **args)],
    }


def carried(result: Any, by: str) -> set[tuple[str, str]]:
    room = result.fold.room
    return {(c["text"], x["how"]) for c in evidence_of(room) for x in c["carried"] if x["by"] == by}


def test_every_answer_that_may_bring_claims_brings_them() -> None:
    """Protects minds of one's own: what a mind states and cites is signed and stands, act by act."""
    result = run(room_of("Witness"), memory=True)
    assert result.outcome == "agreed", result.reason
    assert [f for f in result.plain()["findings"] if "claim" in f["code"] or f["code"] == "excused"] == []
    by_ann = carried(result, "ann")
    assert by_ann >= {
        ("meant so", "gives a meaning"),
        ("settled it", "gives a meaning"),
        ("offered it", "proposes"),
        ("offered it", "scores 60"),
        ("signed it", "signs"),
    }
    assert ("improved it", "proposes") in by_ann | carried(result, "cat")


def test_a_wrong_reference_is_recorded_and_the_room_goes_on() -> None:
    """Protects the others: a slip in a footnote costs nobody the agreement."""
    result = run(room_of("Witness", cites_wrongly=True), memory=True)
    assert result.outcome == "agreed"
    wrong = [f for f in result.plain()["findings"] if f["code"] == "unknown_claim"]
    assert wrong and {f["who"] for f in wrong} == {"cat"}


def test_a_claim_that_breaks_its_model_goes_back_to_the_mind() -> None:
    """Protects the quorum: the peer does not sign what would void its ballot, and says what was wrong."""
    result = run(room_of("Blurter"), memory=True)
    assert result.outcome == "agreed", result.reason


def test_claims_where_none_are_taken_are_refused_before_they_are_signed(caplog: pytest.LogCaptureFixture) -> None:
    """Protects the reading of others: it has no place for claims; its peer knows, and tells its own log alone."""
    result = run(room_of("Overdoer"), memory=True)
    excused = [finding.text for finding in result.findings if finding.code == "excused"]
    assert excused and not any("claims" in text for text in excused)
    assert any("claims" in record.getMessage() for record in caplog.records)


ANSWERS: list[tuple[str, dict[str, Any], Callable[[Any], bool]]] = [
    ("interpret", {"interpretations": {}, "cites": {"task": ["c"]}}, lambda a: a == {}),
    ("settle", {"terms": {}}, lambda a: a == {}),
    ("propose", {"option": {"title": "x"}, "cites": ["c"]}, lambda a: isinstance(a, Proposed)),
    ("score", {"scores": {"x": 1}, "cites": {"x": ["bob:c"]}}, lambda a: isinstance(a, Scored)),
    ("improve", {"option": {"title": "x"}, "cites": ["c"]}, lambda a: isinstance(a, Option)),
    ("ratify", {"accept": True, "cites": ["c"]}, lambda a: isinstance(a, Ratified)),
]


@pytest.mark.parametrize(
    ("act", "answer", "is_bare"), ANSWERS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_command_states_and_cites_in_its_lines(act: str, answer: dict[str, Any], is_bare: Any) -> None:
    """Protects commands: claims stand beside the answer, and without them the answer is what it was."""
    claim = {"id": "c", "text": "seen", "source": "observed"}
    line = json.dumps({"id": 7, "answer": answer | {"claims": [claim]}})
    given = parse_answer(act, line, 7).given
    assert isinstance(given, Grounded) and is_bare(given.answer)
    assert given.plain()["claims"] == [claim]
    assert given.plain().get("cites") == answer.get("cites")
    bare = {key: value for key, value in answer.items() if key != "cites"}
    assert is_bare(parse_answer(act, json.dumps({"id": 7, "answer": bare}), 7).given)
    with pytest.raises(BadAnswer, match="claims"):
        parse_answer(act, json.dumps({"id": 7, "answer": bare | {"claims": [claim | {"source": "seen"}]}}), 7)
