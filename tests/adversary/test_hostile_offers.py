"""Whoever wants a yes to something else than is shown: offers with harmless titles, and what changes before the yes."""

import asyncio
from collections.abc import Callable
from typing import Any

from agents import Agent
from agents.agent import Performed, Watch
from protocols.core.message import Message
from protocols.duties.duties import PerformDuty
from protocols.messages.commitments import (
    AcceptCommitment,
    AssignCommitment,
    CreateCommitment,
    DelegateCommitment,
)
from protocols.views.briefing import briefing
from swarm.clock import utc_now
from swarm.ledger.status import status_of
from swarm.mcp.views import room_view
from swarm.seat.approval import Approval, ApprovalRequest
from swarm.seat.performer import Performer
from tests.support.held_rooms import play, said

YES, NO = Approval(approved=True), Approval(approved=False, because="not that")
HEAVY = "paid(amount >= 1000000) within 1 hour of agreed"


def created(name: str, then: str, creditor: str = "cy", **more: Any) -> CreateCommitment:
    terms = {"id": name, "debtor": "bob", "creditor": creditor, "then": then, **more}
    return CreateCommitment.model_validate({"commitments": [terms]})


class Plotter(Agent):
    """Says each of *plan* in turn: an act, or what makes one of its duty; waits where that makes none yet."""

    def __init__(self, *plan: Message | Callable[[PerformDuty], Message | None]) -> None:
        self.plan = list(plan)

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        if self.plan:
            act = self.plan[0] if isinstance(self.plan[0], Message) else self.plan[0](duty)
            if act is not None:
                del self.plan[0]
                return Performed([act], 1)
        return Performed(again_in=50_000)


class Willing(Agent):
    """Takes over whatever is offered to it."""

    async def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        taken = [AcceptCommitment(commitment=offer.commitment, offer=offer.id) for offer in duty.offers]
        return Performed(taken, 50_000)


class Person:
    """Answers what it is shown by *answer*, after *meanwhile* has come true."""

    def __init__(self, answer: Callable[[ApprovalRequest], Approval], slow: bool = False) -> None:
        self.answer, self.slow = answer, slow
        self.shown: list[ApprovalRequest] = []
        self.done = asyncio.Event()

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.shown.append(request)
        if self.slow and len(self.shown) == 1:
            await self.done.wait()
        return self.answer(request)


def room(**more: Any) -> dict[str, Any]:
    return {
        "room": "errands",
        "intent": "Run errands.",
        "agenda": ["commitments"],
        "promises": [{"id": "errand", "debtor": "bob", "creditor": "cy", "then": "called within 1 day of agreed"}],
        "events": {"paid": {}, "called": {}, "ordered": {}},
        "rules": {"step_seconds": 5, "watch_seconds": 2},
        "members": [{"name": "bob"}, {"name": "cy"}, {"name": "ann"}],
    } | more


def delegated(name: str, because: str | None = None) -> Callable[[PerformDuty], Message | None]:
    """Delegate *name* to ann, once it is there."""
    return lambda duty: (
        DelegateCommitment(commitment=name, to="ann", because=because) if name in duty.promises else None
    )


def test_a_harmless_title_hides_no_terms() -> None:
    """What was promised later and is delegated is shown with debtor, creditor, terms, reason and what waits for it."""
    title, reason = "a courtesy call", "a call, nothing more"
    fine = created("the fine", "paid(amount >= 5) within 1 day of agreed", **{"if": f'violated("{title}")'})
    person = Person(lambda _: NO)
    plot = Plotter(created(title, HEAVY), fine, delegated(title, reason))
    fold = play(room(), {"approve": ["promise"]}, {"bob": plot, "ann": Willing()}, person)
    request = person.shown[0]
    assert (request.by, request.because) == ("bob", reason)
    assert [(p.id, p.debtor, p.creditor, p.consequent) for p in request.promises or ()] == [(title, "ann", "cy", HEAVY)]
    assert [(p.id, p.antecedent) for p in request.bound_up or ()] == [("the fine", f'violated("{title}")')]
    assert said(fold, kind="commitment.accept") == []


def test_a_mandate_reads_what_was_promised_later() -> None:
    """Without a person the terms are the tracker's too: no title and no delay makes a heavy promise a light one."""
    held = {"promises": {"attributes": {"amount": {"max": "100"}}}}
    for then, taken in ((HEAVY, 0), ("paid(amount >= 100) within 1 hour of agreed", 1)):
        plot = Plotter(created("a courtesy call", then), delegated("a courtesy call"))
        fold = play(room(), held, {"bob": plot, "ann": Willing()})
        assert len(said(fold, kind="commitment.accept")) == taken


def test_a_yes_is_to_the_creditor_that_was_shown() -> None:
    """Assigned between the question and the yes: nothing is signed for the new creditor on the old yes."""
    person = Person(lambda _: YES, slow=True)

    def reassigned(duty: PerformDuty) -> Message | None:
        return AssignCommitment(commitment="call", to="bob") if person.shown else None

    def changed(duty: PerformDuty) -> Message | None:
        person.done.set()
        return None

    plot = Plotter(created("call", HEAVY), delegated("call"))
    minds = {"bob": plot, "cy": Plotter(reassigned, changed), "ann": Willing()}
    fold = play(room(), {"approve": ["promise"]}, minds, person)
    assert person.shown[0].promises is not None and person.shown[0].promises[0].creditor == "cy"
    assert said(fold, kind="commitment.accept") == []
    assert fold.room.tracker is not None and fold.room.tracker.status("call").debtor == "bob"


def test_an_offer_replaced_before_the_yes_is_shown_anew() -> None:
    """A second delegation takes the place of the first: a yes to the first is no yes to the second, with its reason."""
    person = Person(lambda request: YES if request.because == "second" else NO, slow=True)

    def again(duty: PerformDuty) -> Message | None:
        return DelegateCommitment(commitment="call", to="ann", because="second") if person.shown else None

    def changed(duty: PerformDuty) -> Message | None:
        person.done.set()
        return None

    plot = Plotter(created("call", HEAVY), delegated("call", "first"), again, changed)
    fold = play(room(), {"approve": ["promise"]}, {"bob": plot, "ann": Willing()}, person)
    assert [request.because for request in person.shown] == ["first", "second"]
    assert len({request.id for request in person.shown}) == 2
    [accepted] = said(fold, kind="commitment.accept")
    assert accepted["offer"] == person.shown[1].body["offer"] != person.shown[0].body["offer"]


def test_one_yes_never_takes_two_offers() -> None:
    """A yes to the offer of one commitment signs nothing about another, however alike they are."""
    person = Person(lambda request: YES if request.body["commitment"] == "call" else NO)
    plot = Plotter(
        created("call", "called within 1 hour of agreed"),
        created("call back", HEAVY),
        delegated("call"),
        delegated("call back"),
    )
    fold = play(room(), {"approve": ["promise"]}, {"bob": plot, "ann": Willing()}, person)
    assert {body["commitment"] for body in said(fold, kind="commitment.accept")} <= {"call"}


def test_the_one_who_is_asked_sees_the_whole_offer_everywhere(monkeypatch: Any) -> None:
    """Duty, briefing, status, rooms and the hook of the one asked show terms, parties, state and reason."""
    seen: dict[str, Any] = {}
    performed = Performer.follow

    async def looking(self: Performer, duty: PerformDuty) -> Any:
        fold = self._replica.fold
        if duty.member == "ann" and duty.offers and not seen:
            seen["duty"] = duty.offers[0].plain()
            seen["rooms"] = room_view(fold.room, "ann")["offers"][0]
            [awaited] = [w for w in status_of(fold, utc_now())["waiting"] if w["for"] == "accept a courtesy call"]
            seen["status"], seen["member"] = awaited["offer"], awaited["member"]
            seen["briefing"] = [p.plain() for p in briefing(fold.room, "ann").own.promises]
            seen["creditor"] = [p.consequent for p in briefing(fold.room, "cy").own.promises]
        return await performed(self, duty)

    monkeypatch.setattr(Performer, "follow", looking)
    plot = Plotter(created("a courtesy call", HEAVY), delegated("a courtesy call", "just a call"))
    play(room(), {}, {"bob": plot})
    assert seen["member"] == "ann"
    for told in (seen["duty"], seen["rooms"], seen["status"]):
        assert (told["debtor"], told["creditor"], told["because"]) == ("bob", "cy", "just a call")
        assert (told["promise"]["then"], told["promise"]["state"]) == (HEAVY, "detached")
    assert HEAVY in seen["creditor"]
    assert [(p["id"], p["then"], p["debtor"]) for p in seen["briefing"]] == [("a courtesy call", HEAVY, "bob")]
