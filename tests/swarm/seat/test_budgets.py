"""Budgets where minds are asked: who is admitted, what is told, what reaches the log; and loops of a mind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocols.messages.budget import Left
from swarm.auditing.auditing import audit
from swarm.running.running import run
from swarm.seat.purse import Purse, UsedUp
from tests.support import costly_agents

pytestmark = pytest.mark.usefixtures("without_waiting")

ROOT = str(Path(__file__).resolve().parents[3])
CALL = {"calls": 1, "tokens_in": 8}


@pytest.fixture(autouse=True)
def _nobody_asked_yet() -> Iterator[None]:
    costly_agents.ASKED.clear()
    yield
    costly_agents.ASKED.clear()


def seated(name: str, kind: str = "Costly", **more: Any) -> dict[str, Any]:
    return {"name": name, "agent": f"tests.support.costly_agents:{kind}", "folder": ROOT, **more}


def scripted(name: str, day: str = "mon") -> dict[str, Any]:
    return {"name": name, "proposes": {"title": day, "offer": {"day": day}}, "scores": {"otherwise": 60}}


def a_room(*members: dict[str, Any], budget: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    rules = {"step_seconds": 20, "improvements": 1} | ({} if budget is None else {"budget": budget})
    return {
        "room": "costly",
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue"]},
        "rules": rules,
        "members": list(members),
    } | more


# -- the purse ---------------------------------------------------------------------------------------------------------


def test_with_one_call_left_and_four_asking_exactly_one_is_admitted() -> None:
    """Protects the budget under concurrency: between asking what is left and using it nothing comes in between."""

    async def work() -> list[str]:
        used = 0
        purse = Purse(lambda: Left(calls=1 - used))

        async def ask() -> str:
            try:
                async with purse.hold() as left:
                    assert left.calls == 1
                    await asyncio.sleep(0.01)
                    purse.used(CALL)
                    return "admitted"
            except UsedUp as amount:
                return str(amount)

        return sorted(await asyncio.gather(*(ask() for _ in range(4))))

    assert asyncio.run(asyncio.wait_for(work(), 10)) == ["admitted", "calls", "calls", "calls"]


def test_a_call_that_crashes_gives_back_what_it_held() -> None:
    """Protects those who ask next: only what was used is gone."""

    async def work() -> list[int | None]:
        purse = Purse(lambda: Left(calls=1))
        admitted = []
        for _ in range(3):
            with pytest.raises(ConnectionError):
                async with purse.hold() as left:
                    admitted.append(left.calls)
                    raise ConnectionError
        task = asyncio.create_task(_held_for_ever(purse))
        await asyncio.sleep(0)
        task.cancel()
        async with purse.hold() as left:
            admitted.append(left.calls)
        return admitted

    assert asyncio.run(asyncio.wait_for(work(), 10)) == [1, 1, 1, 1]


async def _held_for_ever(purse: Purse) -> None:
    async with purse.hold():
        await asyncio.Event().wait()


def test_what_was_used_and_not_said_yet_is_not_there_any_more() -> None:
    """Protects the budget from a mind that is asked twice before its first entry is out."""
    purse = Purse(lambda: Left(calls=2, tokens=20, seconds="1"))

    async def left() -> Left:
        async with purse.hold() as held:
            return held

    purse.used({"calls": 1, "tokens_in": 8, "seconds": "0.25"})
    assert asyncio.run(left()) == Left(calls=1, tokens=12, seconds="0.75")
    purse.said(purse.unsaid)
    assert asyncio.run(left()) == Left(calls=2, tokens=20, seconds="1")
    purse.used({"tokens_out": 20})
    with pytest.raises(UsedUp, match="tokens"):
        asyncio.run(left())


# -- in a room ---------------------------------------------------------------------------------------------------------


def test_every_answer_s_cost_reaches_the_ledger_and_the_result(tmp_path: Path) -> None:
    """Protects who pays: by member, in all, and recomputed from the ledger alone."""
    ledger, roster = tmp_path / "l.jsonl", tmp_path / "r.yaml"
    result = run(a_room(seated("ann"), seated("bob")), memory=True, ledger=ledger, roster=roster)
    assert result.outcome == "agreed"
    calls = len(costly_agents.ASKED)
    assert result.cost.total.calls == calls
    assert result.cost.total.tokens_in == 8 * calls
    assert result.cost.models["ann"] == ("costly-1",)
    assert sum(m.calls for m in result.cost.members.values()) == calls
    assert result.cost.agreement == result.cost.total
    assert result.cost.coordinating == {"tokens": "1.00", "calls": "1.00", "seconds": "1.00"}
    assert audit(ledger, roster=roster).plain()["cost"] == result.cost.plain()


def test_what_a_refusal_took_is_on_the_record_too() -> None:
    """Protects the count: an excuse may have cost as much as an answer."""
    result = run(a_room(seated("ann", "Refusing"), scripted("bob"), scripted("cid", "tue")), memory=True)
    assert [f["text"] for f in result.plain()["findings"] if f["code"] == "excused"] == [
        "concord.option.seal: against my policy"
    ]
    asked = [act for member, act, _ in costly_agents.ASKED if member == "ann"]
    assert result.cost.members["ann"].calls == len(asked) + 1


def test_what_is_left_is_told_and_goes_down_with_every_duty() -> None:
    """Protects minds that plan: each duty says how much of the budget it may use."""
    budget = {"member": {"calls": 9, "tokens": 500}}
    assert run(a_room(seated("ann"), scripted("bob"), budget=budget), memory=True).outcome == "agreed"
    left = [left for _, _, left in costly_agents.ASKED]
    assert [each.tokens for each in left] == [500 - 10 * n for n in range(len(left))]
    assert all(each.calls is not None and 1 <= each.calls <= 9 for each in left)
    assert all(each.seconds is not None for each in left)


def test_a_member_without_budget_is_excused_and_asked_no_more() -> None:
    """Protects the budget and the others: its peer does not ask the mind again, and says why."""
    result = run(a_room(seated("ann"), scripted("bob"), budget={"member": {"calls": 1}}), memory=True)
    assert [act for _, act, _ in costly_agents.ASKED] == ["propose"]
    assert result.outcome == "no_agreement"
    excuses = [f["text"] for f in result.plain()["findings"] if f["code"] == "excused"]
    assert excuses == ["concord.ballot.1.seal: budget: nothing is left of its budget"]


def test_one_call_for_four_members_is_given_once() -> None:
    """Protects the room's budget among members that know nothing of one another's asking."""
    result = run(a_room(*(seated(name) for name in "abcd"), budget={"room": {"calls": 1}}), memory=True)
    assert [(member, act) for member, act, _ in costly_agents.ASKED] == [("a", "propose")]
    assert (result.outcome, result.reason) == ("no_agreement", "budget: the room has no calls left")
    assert result.cost.total.calls == 1


def test_minds_that_take_nothing_are_asked_whatever_is_left() -> None:
    """Protects scripts and people: a budget of calls is none of theirs."""
    members = (seated("ann"), scripted("bob"), scripted("cid", "tue"))
    result = run(a_room(*members, budget={"member": {"calls": 1}}), memory=True)
    excused = {f["who"] for f in result.plain()["findings"] if f["code"] == "excused"}
    assert excused == {"ann"}


# -- loops -------------------------------------------------------------------------------------------------------------


PROMISED = {
    "agenda": ["concord", "commitments"],
    "events": {"signed": {"by": "bob"}},
    "rules": {"step_seconds": 20, "improvements": 1, "watch_seconds": 5},
}
PROMISE = {"id": "sign", "debtor": "bob", "creditor": "ann", "then": "signed within 5 days of agreed"}


def promising(ann: dict[str, Any], bob: dict[str, Any]) -> dict[str, Any]:
    bob = (
        bob | {"performs": [{"event": "signed", "when": "agreed", "after": "4 seconds"}]} if "agent" not in bob else bob
    )
    return a_room(ann, bob, promises=[PROMISE], **PROMISED)


def test_a_mind_that_says_the_same_in_vain_is_stopped_at_the_third_round(caplog: pytest.LogCaptureFixture) -> None:
    """Protects the room and the purse: what is refused three times over is not asked for a fourth time."""
    result = run(promising(seated("ann", "Stubborn"), scripted("bob")), memory=True)
    refused = [f for f in result.plain()["findings"] if f["code"] == "not_allowed" and f["who"] == "ann"]
    assert [f["who"] for f in result.plain()["findings"] if f["code"] == "loop"] == ["ann"] * (len(refused) - 2)
    situations = 3  # Before the agreement, after it, and once bob has signed.
    assert 3 <= len(refused) <= 3 * situations
    assert any("loop: event.report: a cycle of 1" in record.getMessage() for record in caplog.records)
    assert result.commitments == {"sign": "satisfied"}


def test_polling_is_no_loop() -> None:
    """Protects those who wait honestly: to say nothing, however often, is no step of a loop."""
    room = promising(scripted("ann"), seated("bob", "Polling"))
    result = run(room, memory=True)
    assert result.commitments == {"sign": "satisfied"}
    assert "loop" not in [f["code"] for f in result.plain()["findings"]]
    assert len([act for _, act, _ in costly_agents.ASKED if act == "perform"]) >= 12


def test_a_seal_says_nothing_of_what_its_answer_took(tmp_path: Path) -> None:
    """Protects sealed answers: tokens and seconds would tell how long what is hidden is; what opens it carries them."""
    ledger = tmp_path / "l.jsonl"
    result = run(a_room(seated("ann"), seated("bob")), memory=True, ledger=ledger)
    assert result.fold is not None
    entries = [record.entry for record in result.fold.records if record.entry is not None]
    assert {entry.kind for entry in entries if entry.cost} == {"reveal", "concord.pass", "concord.ratify"}
    assert result.cost.total.calls == len(costly_agents.ASKED)
