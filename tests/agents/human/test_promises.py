"""A person and promises: reports are put to the person, all else is listed once, and only what was confirmed goes."""

import asyncio
from typing import Any

import pytest

from agents.human.desk import _act
from agents.human.forms import Wrong
from agents.human.mind import Human
from protocols.duties.duties import PerformDuty, ReportAsked
from protocols.messages.commitments import (
    AcceptCommitment,
    CancelCommitment,
    ConfirmReport,
    DisputeReport,
    ReportEvent,
)
from tests.support.typed_person import Typed

PAID = ReportAsked(id="r1", event="paid", by="ben\x1b[2J", attributes={"amount": "12"})


def duty(**more: Any) -> PerformDuty:
    plain: dict[str, Any] = {"reportable": [], "awaiting": [], "promises": {}, "done": [], "operations": []}
    return PerformDuty(member="ann", **plain | more)


def decided(*duties: PerformDuty, lines: tuple[str | None, ...]) -> tuple[list[Any], Typed]:
    """Return what is said when the peer comes by with each of *duties*, the last one until all *lines* are read."""
    terminal = Typed(*lines)

    async def work() -> list[Any]:
        human, acts = Human(terminal), []
        for each in duties[:-1]:
            acts += (await human.perform(each, None)).acts  # type: ignore[arg-type]
            await asyncio.sleep(0.05)
        while terminal.lines:
            acts += (await human.perform(duties[-1], None)).acts  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        performed = await human.perform(duties[-1], None)  # type: ignore[arg-type]
        assert performed.again_in
        return [*acts, *performed.acts]

    return asyncio.run(asyncio.wait_for(work(), 20)), terminal


def test_a_report_is_confirmed_or_disputed_with_a_reason() -> None:
    """Protects the record: a slip says nothing, a dispute has its reason, and one report is answered once."""
    acts, terminal = decided(duty(awaiting=[PAID]), lines=("", "no", "yes!", "yes", "yes"))
    assert acts == [ConfirmReport(report="r1")]
    assert "ben\\x1b[2J reports: paid (amount 12)" in terminal.text
    acts, _ = decided(duty(awaiting=[PAID]), lines=("no it was 11", "yes"))
    assert acts == [DisputeReport(report="r1", because="it was 11")]


def test_what_is_not_confirmed_is_not_sent() -> None:
    """Protects the last word: a no at the end begins the question anew."""
    acts, _ = decided(duty(awaiting=[PAID]), lines=("yes", "no", "no it was 11", "yes"))
    assert acts == [DisputeReport(report="r1", because="it was 11")]


@pytest.mark.parametrize("leave", ["later", None])
def test_a_report_that_was_left_comes_back_on_enter(leave: str | None) -> None:
    """Protects being away: it is not asked again by itself, and is when the person is back."""
    acts, terminal = decided(duty(awaiting=[PAID]), lines=(leave, "", "yes", "yes"))
    assert acts == [ConfirmReport(report="r1")]
    assert terminal.text.count("awaits your answer\n") == 2


def test_all_else_is_listed_once_and_is_the_persons_to_begin() -> None:
    """Protects quiet: changes in the room are no reason to ask; commands say what they would sign."""
    lines = ("dance", "report sent weight=3 by post", "report sent weight=3", "yes", "cancel rent too dear", "no")
    changes = [duty(reportable=["sent"], promises={"rent": "conditional", f"n{n}": "none"}) for n in range(3)]
    acts, terminal = decided(*changes, lines=lines)
    assert acts == [ReportEvent(event="sent", attributes={"weight": "3"})]
    assert terminal.text.count("what you can do") == 1
    assert "report that sent happened (weight 3)" in terminal.text
    assert "nothing was sent" in terminal.text


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("cancel rent", CancelCommitment(commitment="rent")),
        ("cancel rent of May too dear", CancelCommitment(commitment="rent of May", because="too dear")),
        ("accept rent", AcceptCommitment(commitment="rent", offer="d")),
        ("report sent", ReportEvent(event="sent")),
        ("report sent back", ReportEvent(event="sent back")),
    ],
)
def test_names_may_hold_spaces(text: str, act: Any) -> None:
    """Protects the right object: the longest name that fits is meant."""
    rent = {"id": "rent", "debtor": "bob", "creditor": "cy", "then": "sent", "state": "detached"}
    offers = [{"id": "d", "commitment": "rent", "debtor": "bob", "creditor": "cy", "promise": rent}]
    promises = {"rent": "detached", "rent of May": "detached"}
    of = duty(reportable=["sent", "sent back"], offers=offers, promises=promises)
    assert _act(text, of)[0] == act


@pytest.mark.parametrize(
    "text", ["cancel", "cancel nothing", "report", "report lost", "report sent weight", "sign rent"]
)
def test_what_does_not_exist_cannot_be_said(text: str) -> None:
    """Protects against typing errors: nothing like it is guessed."""
    with pytest.raises(Wrong):
        _act(text, duty(reportable=["sent"], promises={"rent": "detached"}))


def test_a_report_that_is_settled_elsewhere_is_taken_away() -> None:
    """Protects from answers to what is over: it is said, and the line typed next answers the next report."""

    class Away(Typed):
        """A person who does not answer the first prompt."""

        asked = 0

        async def line(self, prompt: str, *theirs: object, wait_s: float | None = None) -> str | None:
            if prompt:
                self.asked += 1
            if self.asked == 1:
                self.tell(prompt)
                await asyncio.sleep(0.01)
                raise TimeoutError
            return await super().line(prompt, *theirs, wait_s=wait_s)

    terminal = Away("yes", "yes")

    async def work() -> list[Any]:
        human = Human(terminal)
        other = PAID.model_copy(update={"id": "r2", "event": "sent"})
        await human.perform(duty(awaiting=[PAID]), None)  # type: ignore[arg-type]
        while not terminal.asked:
            await asyncio.sleep(0.01)
        acts: list[Any] = []
        while terminal.lines or not acts:
            acts += (await human.perform(duty(awaiting=[other]), None)).acts  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
        return acts

    acts = asyncio.run(asyncio.wait_for(work(), 20))
    assert [act.report for act in acts] == ["r2"]
    assert "too late: this report does not await your answer any more" in terminal.text


CALL = {"id": "call", "debtor": "bob", "creditor": "cy", "then": "paid(amount >= 1000000)", "state": "conditional"}


def offered(offer: str = "d", because: str | None = "a courtesy", **changed: Any) -> PerformDuty:
    promise = CALL | changed
    told = {"id": offer, "commitment": "call", "debtor": "bob", "creditor": promise["creditor"], "because": because}
    return duty(offers=[{**told, "promise": promise}], promises={"call": promise["state"]})


def test_a_delegation_is_shown_whole_and_accepted_by_its_id() -> None:
    """Protects the yes: the person sees parties, terms, state and reason before it, and the entry names that offer."""
    acts, terminal = decided(offered(), lines=("accept call", "yes"))
    assert acts == [AcceptCommitment(commitment="call", offer="d")]
    for text in ("bob offers you to owe call in its place, to cy", "because a courtesy", "paid(amount >= 1000000)"):
        assert text in terminal.text


@pytest.mark.parametrize("then", [offered("e"), offered(creditor="eve"), offered(state="detached"), duty()])
def test_a_yes_to_what_has_changed_meanwhile_sends_nothing(then: PerformDuty) -> None:
    """Protects against the switch: whatever of an offer changes while the person reads, the yes is to what it read."""

    now = [offered()]

    class Switched(Typed):
        async def line(self, prompt: str, *theirs: object, wait_s: float | None = None) -> str | None:
            if "Send it?" in prompt:
                now[0] = then
                await human.perform(then, None)  # type: ignore[arg-type]
            return await super().line(prompt, *theirs, wait_s=wait_s)

    terminal = Switched("accept call", "yes")
    human = Human(terminal)

    async def work() -> list[Any]:
        acts: list[Any] = []
        while terminal.lines:
            acts += (await human.perform(now[0], None)).acts  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return [*acts, *(await human.perform(now[0], None)).acts]  # type: ignore[arg-type]

    assert asyncio.run(asyncio.wait_for(work(), 20)) == []
    assert "too late: what you were shown has changed" in terminal.text
