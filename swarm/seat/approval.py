"""Approval: a person says yes before a peer signs what binds its member.

The mandate says what binds (``approve: [ratify, promise]``): a signature under the outcome, and whatever makes the
member a debtor. The peer asks with the very body that it would sign. Without a yes in time nothing of it is signed, and
the record gets only the person's reason.

A request's id is the digest of what it shows. So a restarted peer finds an answer that was given before, and a yes
holds for exactly what was shown: if the room has meanwhile changed its meaning, the person is asked again.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from protocols.core.canonical import digest
from protocols.core.instants import Instant, show_instant
from protocols.core.message import Hex, Message, Words
from protocols.duties.briefing import PromiseKnown
from protocols.duties.duties import RatifyDuty
from protocols.messages.commitments import AcceptCommitment, CommitmentTerms, CreateCommitment
from protocols.messages.concord import Option
from protocols.room.promised import Standing, as_made
from protocols.room.room import Room
from swarm.seat.excuses import Excused
from swarm.seat.mandate import Mandate


class ApprovalRequest(Message):
    """What would be signed, in full: the ``body``, and what it stands for.

    ``act`` is what the mandate requires to be approved. An outcome comes with option, scores and open differences, a
    delegation with who offers it and ``because`` of what. ``promises`` are those that would become this member's, with
    their parties as they then are; ``bound_up`` are what these refer to, and what waits for them. ``until`` is the last
    moment for an answer, RFC 3339.
    """

    id: Hex
    room: str
    intent: str
    member: str
    act: Literal["ratify", "promise"]
    body: dict[str, Any]
    option: Option | None = None
    vector: list[int] | None = None
    rule: str | None = None
    open: list[dict[str, Any]] | None = None
    by: str | None = None
    because: str | None = None
    promises: list[PromiseKnown] | None = None
    bound_up: list[PromiseKnown] | None = None
    until: str | None = None

    @property
    def whole(self) -> str:
        """The digest of everything to which a yes applies: the id, unless somebody changed the request.

        It does not include the time left to answer, the existing instances (a promise with ``each`` is shown with those
        to come), or the progress of related promises.
        """
        shown = self.plain()
        for promise in (*shown.get("promises", ()), *shown.get("bound_up", ())):
            del promise["instances"]
        for promise in shown.get("bound_up", ()):
            del promise["state"]
        return digest({name: value for name, value in shown.items() if name not in ("id", "until")})


class Approval(Message):
    """The answer: yes, or no with a reason that the record may carry."""

    approved: bool
    because: Words | None = None


class Approver(Protocol):
    """Somebody who can be asked for a person's yes."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Return the answer. It may take any time; the caller cancels."""


class NotApproved(Excused):
    """There is no yes; the text is the reason, which a refusal of the outcome carries and an excuse does not."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, "not_approved")


def request_for(
    mandate: Mandate, member: str, body: Mapping[str, Any], room: Room, duty: Any = None, until: Instant | None = None
) -> ApprovalRequest | None:
    """Return the request for *body*, said by *member*; None if *mandate* lets it be signed without approval.

    Raises `NotApproved` for a delegation that is not offered as it says: there is nothing to show.
    """
    details = _details(mandate, member, body, room, duty)
    if details is None:
        return None
    request = ApprovalRequest(
        id="0" * 64,
        room=room.setting.room,
        intent=room.setting.opening.intent,
        member=member,
        body=dict(body),
        until=None if until is None else show_instant(until),
        **details,
    )
    return request.model_copy(update={"id": request.whole})


def _details(mandate: Mandate, member: str, body: Mapping[str, Any], room: Room, duty: Any) -> dict[str, Any] | None:
    """Return what *body* stands for; None if it needs no approval."""
    kind = body["kind"]
    if kind == "concord.ratify":
        if not body["accept"] or not isinstance(duty, RatifyDuty) or room.concord is None:
            return None
        option = room.concord.candidates[duty.outcome.option].option
        mine = [terms for terms in option.commitments if terms.debtor == member]
        if "ratify" not in mandate.approve and not ("promise" in mandate.approve and mine):
            return None
        outcome = duty.outcome
        told = {"option": option, "vector": outcome.vector, "rule": outcome.rule, "open": outcome.open}
        return {"act": "ratify", **told, **_made(room, mine, option.commitments)}
    if "promise" not in mandate.approve:
        return None
    if kind == "commitment.create":
        mine = CreateCommitment.model_validate(dict(body)).commitments
        return {"act": "promise", **_made(room, mine, mine)}
    if kind == "commitment.accept":
        return {"act": "promise", **_taken_over(room, AcceptCommitment.model_validate(dict(body)), member)}
    return None


def _made(room: Room, mine: list[CommitmentTerms], made: list[CommitmentTerms]) -> dict[str, Any]:
    """Return what the promises *mine* stand for, out of those *made* together."""
    if not mine or room.tracker is None:
        return {}
    shown = {terms.id for terms in made}
    around = Standing(room.tracker).bound_up([terms.id for terms in mine], made)
    return {
        "promises": [as_made(terms) for terms in mine],
        "bound_up": [each for each in around if each.id not in shown] or None,
    }


def _taken_over(room: Room, body: AcceptCommitment, member: str) -> dict[str, Any]:
    """Return what accepting a delegation stands for; raise `NotApproved` if it is not offered so."""
    offers = [] if room.promises is None else room.promises.offers(member)
    offer = next((each for each in offers if (each.id, each.commitment) == (body.offer, body.commitment)), None)
    if offer is None or room.tracker is None:
        raise NotApproved(f"not approved: {body.commitment} is not offered by {body.offer}")
    standing = Standing(room.tracker)
    promise = standing.taken_over(body.commitment, member)
    around = standing.bound_up([body.commitment]) or None
    return {"by": offer.debtor, "because": offer.because, "promises": [promise], "bound_up": around}


async def approved(approver: Approver | None, request: ApprovalRequest, timeout_s: float | None = None) -> None:
    """Return once *request* is approved; raise `NotApproved`."""
    if approver is None:
        raise NotApproved("not approved: there is nobody to ask")
    try:
        async with asyncio.timeout(timeout_s):
            answer = await approver.approve(request)
    except TimeoutError:
        raise NotApproved("not approved in time") from None
    if not answer.approved:
        raise NotApproved(f"not approved: {answer.because}" if answer.because else "not approved")


class Pending:
    """The acts of the member *name* that wait for a yes: each is asked for once, however often its mind repeats it."""

    def __init__(self, name: str, mandate: Mandate | None, approver: Approver | None) -> None:
        self._name = name
        self._mandate = mandate
        self._approver = approver
        self._tasks: dict[str, tuple[dict[str, Any], asyncio.Task[None]]] = {}
        self._known: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def takes(self, body: dict[str, Any], room: Room) -> bool:
        """Ask for *body* if it needs a yes; return whether it does, and must therefore not be said yet.

        Raises `NotApproved` if there is nothing to ask for.
        """
        request = None if self._mandate is None else request_for(self._mandate, self._name, body, room)
        if request is None:
            return False
        if request.id not in self._known:
            self._known.add(request.id)
            self._drop(body)
            self._tasks[request.id] = body, asyncio.ensure_future(approved(self._approver, request))
        return True

    def _drop(self, body: dict[str, Any]) -> None:
        """Withdraw the request for *body* as it was shown before."""
        for id_ in [id_ for id_, (asked, _) in self._tasks.items() if asked == body]:
            self._tasks.pop(id_)[1].cancel()
            self._known.discard(id_)

    def settled(self, room: Room) -> list[tuple[dict[str, Any], str | None]]:
        """Return each body that was answered since the last call, with the reason if it is not approved.

        If the meaning of a body in *room* has changed since it was shown, it is asked for again, whatever the answer
        was.
        """
        done = [id_ for id_, (_, task) in self._tasks.items() if task.done()]
        settled: list[tuple[dict[str, Any], str | None]] = []
        for id_ in done:
            body, task = self._tasks.pop(id_)
            try:
                task.result()
                if not self._still(id_, body, room):
                    continue
                settled.append((body, None))
            except NotApproved as no:
                settled.append((body, str(no)))
        return settled

    def _still(self, id_: str, body: dict[str, Any], room: Room) -> bool:
        """Return whether *body* is still what was shown as *id_*; ask for it again if it is not."""
        assert self._mandate is not None
        request = request_for(self._mandate, self._name, body, room)
        if request is not None and request.id == id_:
            return True
        if request is not None:
            self._known.discard(request.id)
        return not self.takes(body, room)

    def close(self) -> None:
        """Stop asking."""
        for _, task in self._tasks.values():
            task.cancel()
