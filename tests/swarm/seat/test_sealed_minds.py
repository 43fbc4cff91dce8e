"""Sealed is sealed: what a mind was about to answer, and may not, is read by its own member alone."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.agent import Agent, BadAnswer, CannotAnswer, Proposed, Scored
from protocols.messages.accord import Interpretation
from protocols.messages.concord import Option
from swarm.running.running import RunResult, run

HERE = str(Path(__file__).parent)
MARKER = "77.5-is-what-we-would-take"
ACTS = {
    "interpret": "accord.meaning",
    "read": "accord.reading",
    "propose": "concord.option",
    "score": "concord.ballot.1",
}
"""Every duty that is answered under a seal, with its step."""

COMMAND = f"""
import json, sys
act, way = sys.argv[1:]
for line in sys.stdin:
    duty = json.loads(line)
    content = duty["duty"] if isinstance(duty.get("duty"), dict) else duty
    if duty["act"] != act:
        print(json.dumps({{"id": duty["id"], "excuse": "nothing of mine"}}), flush=True)
    elif way == "no line of ours":
        print("{MARKER}", flush=True)
    elif way == "a complaint and an end":
        sys.exit("{MARKER}")
    else:
        wrong = {{
            "interpret": {{"interpretations": {{"{MARKER}": {{"meaning": "{MARKER}"}}, "task": 7}}}},
            "read": {{"readings": "{MARKER}", "verdicts": ["{MARKER}"]}},
            "propose": {{"option": {{"title": "{MARKER}", "offer": {{"day": "mon"}}}}, "reserve": "{MARKER}"}},
            "score": {{"scores": {{"{MARKER}": 5}}, "reasons": {{"{MARKER}": "{MARKER}"}}}},
        }}
        print(json.dumps({{"id": duty["id"], "answer": wrong[act]}}), flush=True)
"""
WAYS = ["an answer of another form", "no line of ours", "a complaint and an end"]
FAULTS = ["raises", "cannot", "bad", "wrong type", "refused by the rules"]


def a_room(mind: dict[str, Any], **rules: Any) -> dict[str, Any]:
    plain = {"proposes": {"title": "tue", "offer": {"day": "tue"}}, "scores": {"otherwise": 60}}
    meanings = {"reads": {"task": {"meaning": "a day", "cases": [{"text": "a case", "applies": True}]}}}
    return {
        "room": "sealed",
        "intent": "Pick a day.",
        "agenda": ["accord", "concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": {"step_seconds": 8, **rules},
        "members": [{"name": "bob", **mind}, {"name": "ann", **plain, **meanings}, {"name": "cyd", **plain}],
    }


def held(result: RunResult, act: str) -> None:
    """Check that the member was excused from *act* by code and fixed words, and that the marker is nowhere."""
    assert result.fold is not None
    records = result.fold.records
    excuses = [
        record.entry.body
        for record in records
        if record.entry is not None and record.entry.body.get("step") == f"{ACTS[act]}.seal"
    ]
    said = [body["because"] for body in excuses if body["kind"] == "room.excuse"]
    assert any(text.partition(":")[0] in ("invalid", "failed", "mandate") for text in said), said
    for record in records:
        assert MARKER.encode() not in record.payload
    assert MARKER not in json.dumps(result.plain())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("act", ACTS)
def test_of_a_command(act: str, way: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Protects a command's owner: an answer that does not fit, and its last words, are on its own terminal only."""
    (tmp_path / "mind.py").write_text(COMMAND, encoding="utf-8")
    command = [sys.executable, "mind.py", act, way]
    result = run(a_room({"agent": "exec", "command": command, "folder": str(tmp_path)}), memory=True)
    held(result, act)
    assert any(f"bob: {ACTS[act]}.seal: " in record.getMessage() for record in caplog.records)


class Leaking(Agent):
    """Fails at one duty, in one way, with the marker in whatever it says."""

    kind = "leaking"
    at: str = ""
    way: str = ""

    async def interpret(self, duty: Any) -> Any:
        wrong = {MARKER: Interpretation(meaning=MARKER)}
        return self._fails("interpret", wrong, {"task": Interpretation(meaning="a day")})

    async def read(self, duty: Any) -> Any:
        return self._fails("read", {MARKER: MARKER}, await super().read(duty))

    async def propose(self, duty: Any) -> Any:
        day = MARKER if self.way == "refused by the rules" else "mon"
        wrong = Proposed(Option(title=MARKER, offer={"day": day}), 40)
        return self._fails("propose", wrong, Proposed(Option(title="mon", offer={"day": "mon"})))

    async def score(self, duty: Any) -> Any:
        wrong = Scored({asked.id: 50 for asked in duty.options}, reasons={MARKER: MARKER})
        return self._fails("score", wrong, Scored({asked.id: 50 for asked in duty.options}))

    def _fails(self, act: str, wrong: Any, right: Any) -> Any:
        if act != self.at:
            return right
        match self.way:
            case "raises":
                raise ValueError(MARKER)
            case "cannot":
                raise CannotAnswer(MARKER, "invalid")
            case "bad":
                raise BadAnswer(MARKER)
            case "wrong type":
                return {MARKER: [MARKER]} if act != "interpret" else MARKER
        return wrong


@pytest.mark.parametrize("way", FAULTS)
@pytest.mark.parametrize("act", ACTS)
def test_of_a_class(act: str, way: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Protects whoever writes a mind: no error's text and no answer that the rules refuse gets out of its process."""
    module = sys.modules.setdefault("test_sealed_minds", sys.modules[__name__])
    monkeypatch.setattr(module.Leaking, "at", act)
    monkeypatch.setattr(module.Leaking, "way", way)
    result = run(a_room({"agent": "test_sealed_minds:Leaking", "folder": HERE}), memory=True)
    held(result, act)
    assert f"bob: {ACTS[act]}.seal: " in caplog.text
    assert MARKER in caplog.text or way in ("wrong type", "refused by the rules")


def test_of_a_mandate(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Protects the owner: which part of a mandate an answer broke is not for the others to know before a reveal."""
    module = sys.modules.setdefault("test_sealed_minds", sys.modules[__name__])
    monkeypatch.setattr(module.Leaking, "at", "propose")
    monkeypatch.setattr(module.Leaking, "way", "refused by the rules")
    mandate = {"offers": {"day": ["tue"]}}
    result = run(a_room({"agent": "test_sealed_minds:Leaking", "folder": HERE, "mandate": mandate}), memory=True)
    held(result, "propose")
    monkeypatch.setattr(module.Leaking, "way", "within the rules")
    result = run(a_room({"agent": "test_sealed_minds:Leaking", "folder": HERE, "mandate": mandate}), memory=True)
    held(result, "propose")
    assert "offers.day" in caplog.text and "offers.day" not in json.dumps(result.plain())
