"""Minds that fail: the peer says so, the others go on, and everything ends."""

from typing import Any

import pytest

from agents.agent import Performed
from protocols.duties.duties import ScoreDuty
from swarm.errors import BadInput
from swarm.running.running import RunResult, run
from swarm.seat.answers import acts_of
from swarm.seat.asking import Mind
from swarm.seat.excuses import WORDS, Excused, public
from tests.support.small_rooms import custom, go, member, room
from tests.support.strange_agents import RELEASED, Willing

pytestmark = pytest.mark.usefixtures("without_waiting")

ACCORD: dict[str, Any] = {"agenda": ["accord", "concord"]}


def excuses(result: RunResult, code: str = "excused") -> list[tuple[str, str]]:
    return [(f["who"], f["text"]) for f in result.plain()["findings"] if f["code"] == code]


FAULTS = [
    ("interpret", "raises", "boom"),
    ("interpret", "a_huge_text", "20000 characters"),
    ("interpret", "deeply_nested", "not valid"),
    ("interpret", "nonsense", "not valid"),
    ("read", "nonsense", "expected Readings"),
    ("propose", "raises_plainly", "plain boom"),
    ("propose", "outside_the_issues", "wed"),
    ("propose", "unchecked", "not valid"),
    ("propose", "refuses_at_length", "nonono"),
    ("score", "exits", "SystemExit"),
    ("score", "exits_plainly", "SystemExit"),
    ("score", "cancels", "CancelledError"),
    ("score", "times_out", "TimeoutError: the model's server"),
    ("score", "a_generator", "expected Scored"),
    ("score", "too_high", "score"),
    ("score", "a_truth_value", "score"),
    ("score", "half_a_ballot", "every option needs"),
    ("ratify", "nonsense", "expected Ratified"),
]


OWN_WORDS = "refuses_at_length"
"""A mind that declines an answer says so itself, to everybody."""


@pytest.mark.parametrize(("at", "how", "why"), FAULTS)
def test_a_fault_becomes_an_excuse_with_its_reason(
    at: str, how: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Protects the others: what a mind does wrong is recorded at the step that it concerns, and ends nobody's loop.

    The record has a code and fixed words; the error itself is in its own member's log.
    """
    bob = member("bob", proposes={"title": "bob's", "offer": {"day": "tue"}})
    result = run(room(member("ann"), bob, custom("cat", "Strange", at=at, how=how), **ACCORD), memory=True)
    assert result.outcome in ("agreed", "no_agreement")
    [(who, text)] = excuses(result)
    assert who == "cat"
    assert at in text.replace("meaning", "interpret").replace("reading", "read").replace("option", "propose").replace(
        "ballot", "score"
    )
    told = [record.getMessage() for record in caplog.records if record.name == "swarm.seat.seat"]
    if how == OWN_WORDS:
        assert why in text and not told
    else:
        assert text.partition(": ")[2] in map(public, WORDS)
        assert [line for line in told if line.startswith(f"cat: {text.partition(': ')[0]}: ") and why in line]
    assert len(text) < 700
    assert not excuses(result, "bad_body")


@pytest.mark.real_time
def test_minds_that_hang_are_excused_in_time() -> None:
    """Protects the deadline: whatever blocks, in whatever way, its peer says so before the step closes."""
    ways = ["waits", "waits_stubbornly", "blocks", "blocks_though_async"]
    strange = [custom(f"cat-{how}", "Strange", at="score", how=how) for how in ways]
    result = run(room(member("ann"), *strange, seconds=2), memory=True)
    RELEASED.set()
    RELEASED.clear()
    assert result.outcome == "no_agreement"
    excused = excuses(result)
    assert {who for who, _ in excused} == {each["name"] for each in strange}
    assert all(text.endswith(": late: it gave no answer in time") for _, text in excused)
    assert not excuses(result, "silent")


@pytest.mark.real_time
def test_a_mind_is_asked_again_after_one_that_blocked_its_thread() -> None:
    """Protects the later steps: one call that never returns costs that step and not the room."""
    cat = custom("cat", "Strange", at="interpret", how="blocks_though_async")
    result = run(room(member("ann"), cat, seconds=4, **ACCORD), memory=True)
    RELEASED.set()
    RELEASED.clear()
    assert result.outcome == "agreed"
    assert result.decision is not None
    assert set(result.decision.scores) == {"ann", "cat"}


def test_answers_too_large_for_an_entry_are_excused() -> None:
    """Protects the peer: what is valid and still does not fit into one entry is said to be so, once."""
    terms = [f"term {i}" for i in range(50)]
    cat = custom("cat", "Willing", terms_of=6_000)
    result = run(room(member("ann"), cat, terms=terms, **ACCORD), memory=True)
    assert result.outcome == "agreed"
    [(who, text)] = excuses(result)
    assert who == "cat"
    assert text.endswith(public("unsayable"))


def test_a_mind_gets_a_copy_of_its_duty() -> None:
    """Protects the fold: what a mind does to the lists in its duty changes nobody's room."""
    scenario = room(member("ann"), custom("cat", "Strange", at="interpret", how="spoils_its_duty"), **ACCORD)
    result = run(scenario, memory=True)
    assert result.fold is not None
    assert result.fold.room.accord is not None
    assert list(result.fold.room.accord.terms) == ["task"]


@pytest.mark.parametrize(
    ("at", "how", "why"),
    [("manifest", "raises", "boom"), ("nominate", "many_nominations", "nominates"), ("manifest", "nonsense", "object")],
)
def test_who_cannot_say_what_it_is_declines(at: str, how: str, why: str, caplog: pytest.LogCaptureFixture) -> None:
    """Protects the start: a mind that fails before joining ends the wait at once, with its reason."""
    result = run(room(member("ann"), custom("cat", "Strange", at=at, how=how)), memory=True)
    assert (result.outcome, result.reason) == ("abandoned", "declined: cat")
    [(who, text)] = excuses(result, "declined")
    assert who == "cat" and text.removeprefix("declines the opening: ") in map(public, WORDS)
    assert why in caplog.text


def test_a_mind_that_repeats_its_report_does_not_flood_the_log() -> None:
    """Protects the log: the same act is said again once a second at most, however often the mind returns it."""
    scenario = room(
        member("ann", confirms=False),
        custom("cat", "Reporting"),
        agenda=["concord", "commitments"],
        events={"signed": {"by": "cat", "confirmed_by": "ann"}},
        rules={"watch_seconds": 2},
    )
    scenario["members"][0]["proposes"]["commitments"] = [
        {"id": "sign", "debtor": "ann", "creditor": "cat", "then": "signed within 1 minute of agreed"}
    ]
    result = run(scenario, memory=True)
    assert result.outcome == "agreed"
    assert result.fold is not None
    kinds = [r.entry.body["kind"] for r in result.fold.records if r.entry is not None]
    assert 1 <= kinds.count("event.report") <= 6


@pytest.mark.parametrize(
    ("answer", "why"),
    [(None, "NoneType"), (Performed(["x"]), "str"), (Performed([], again_in="soon"), "whole"), (Performed(7), "list")],  # type: ignore[arg-type,list-item]
)
def test_what_is_no_performance_is_refused(answer: Any, why: str) -> None:
    """Protects the peer's loop: an answer to perform is checked before any of it is used."""
    with pytest.raises(Excused, match=why):
        acts_of(answer)


def test_a_mind_of_the_users_keeps_one_event_loop() -> None:
    """Protects clients that belong to a loop: all calls of one mind run on the same one, which is not its peer's."""

    async def work() -> None:
        import asyncio

        class Remembering(Willing):
            async def score(self, duty: ScoreDuty) -> Any:
                return asyncio.get_running_loop()

        mind = Mind(Remembering())
        first, second = [await mind.ask("score", 5.0, None) for _ in range(2)]
        mind.close()
        assert first is second
        assert first is not asyncio.get_running_loop()

    go(work())


BAD = [
    ({"agent": "tests.support.strange_agents:Willing", "args": {"day": "tue"}}, None),
    ({"agent": "no_such_module:Willing"}, "importable"),
    ({"agent": "tests.support.strange_agents:Nobody"}, "has no Nobody"),
    ({"agent": "tests.support.strange_agents:NoAgent"}, "subclass of agents.Agent"),
    ({"agent": "tests.support.strange_agents:HERE_THERE"}, "has no HERE_THERE"),
    ({"agent": "tests.support.strange_agents:RELEASED"}, "subclass of agents.Agent"),
    ({"agent": "tests.support.strange_agents:Willing", "args": {"dya": "tue"}}, "day"),
    ({"agent": "tests.support.strange_agents:NeedsArguments", "args": {"model": "x"}}, "no model x"),
    ({"agent": "strange agents"}, "package.module:Class"),
]


@pytest.mark.parametrize(("agent", "why"), BAD)
def test_agents_that_cannot_be_had_are_bad_input(agent: dict[str, Any], why: str | None) -> None:
    """Protects the user: a class that is not there, no agent or made wrongly is said before any room opens."""
    scenario = room(member("ann"), {"name": "cat", **custom("cat", "x"), **agent})
    if why is None:
        assert run(scenario, memory=True).outcome == "agreed"
        return
    with pytest.raises(BadInput, match=why):
        run(scenario, memory=True)
