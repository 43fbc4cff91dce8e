"""Approval: a person says yes before a peer signs what binds its member.

The mandate says what binds (``approve: [ratify, promise]``): a signature under the outcome, and whatever makes the
member a debtor. The peer asks with the very body that it would sign. Without a yes in time nothing of it is signed, and
the record gets only the person's reason.

A request's id is the digest of what would be signed, so that a restarted peer finds an answer that was given before.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from protocols.core.canonical import digest
from protocols.core.instants import Instant, show_instant
from protocols.core.message import Hex, Message, Words
from protocols.duties.duties import RatifyDuty
from protocols.messages.commitments import AcceptCommitment, CommitmentTerms, CreateCommitment
from protocols.messages.concord import Option
from protocols.room.room import Room
from swarm.seat.excuses import Excused
from swarm.seat.mandate import Mandate, taken_over


class ApprovalRequest(Message):
    """What would be signed, in full: the ``body``, and what it stands for.

    ``for`` is what the mandate wants approved. For an outcome, there are the option, its scores and what is still open;
    ``promises`` are those that would become this member's. ``until`` is the last moment for an answer, RFC 3339.
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
    promises: list[CommitmentTerms] | None = None
    until: str | None = None


class Approval(Message):
    """The answer: yes, or no with a reason that the record may carry."""

    approved: bool
    because: Words | None = None


class Approver(Protocol):
    """Somebody who can be asked for a person's yes."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Return the answer. It may take any time; the caller cancels."""


def request_for(
    mandate: Mandate, member: str, body: Mapping[str, Any], room: Room, duty: Any = None, until: Instant | None = None
) -> ApprovalRequest | None:
    """Return the request for *body*, said by *member*; None if *mandate* lets it be signed without one."""
    details: dict[str, Any] = {}
    act: Literal["ratify", "promise"] = "promise"
    kind = body["kind"]
    if kind == "concord.ratify":
        if not body["accept"] or not isinstance(duty, RatifyDuty) or room.concord is None:
            return None
        option = room.concord.candidates[duty.outcome.option].option
        mine = [terms for terms in option.commitments if terms.debtor == member]
        act = "ratify"
        if "ratify" not in mandate.approve and not ("promise" in mandate.approve and mine):
            return None
        outcome = duty.outcome
        details = {"option": option, "vector": outcome.vector, "rule": outcome.rule, "open": outcome.open}
    elif "promise" not in mandate.approve:
        return None
    elif kind == "commitment.create":
        mine = CreateCommitment.model_validate(dict(body)).commitments
    elif kind == "commitment.accept":
        name = AcceptCommitment.model_validate(dict(body)).commitment
        taken = taken_over(room, name, member)
        mine = [] if taken is None else [taken.model_copy(update={"id": name.partition("[")[0]})]
    else:
        return None
    plain = dict(body)
    return ApprovalRequest(
        id=digest({"room": room.setting.room, "member": member, "body": plain}),
        room=room.setting.room,
        intent=room.setting.opening.intent,
        member=member,
        act=act,
        body=plain,
        promises=mine or None,
        until=None if until is None else show_instant(until),
        **details,
    )


class NotApproved(Excused):
    """There is no yes; the text is the reason, which a refusal of the outcome carries and an excuse does not."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, "not_approved")


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
        """Ask for *body* if it needs a yes; return whether it does, and therefore must not be said yet."""
        request = None if self._mandate is None else request_for(self._mandate, self._name, body, room)
        if request is None:
            return False
        if request.id not in self._known:
            self._known.add(request.id)
            self._tasks[request.id] = body, asyncio.ensure_future(approved(self._approver, request))
        return True

    def settled(self) -> list[tuple[dict[str, Any], str | None]]:
        """Return each body that was answered since the last call; for one that was not approved, with the reason."""
        done = [id_ for id_, (_, task) in self._tasks.items() if task.done()]
        settled: list[tuple[dict[str, Any], str | None]] = []
        for id_ in done:
            body, task = self._tasks.pop(id_)
            try:
                task.result()
                settled.append((body, None))
            except NotApproved as no:
                settled.append((body, str(no)))
        return settled

    def close(self) -> None:
        """Stop asking."""
        for _, task in self._tasks.values():
            task.cancel()


# -- at a terminal ----------------------------------------------------------------------------------------------------


# -- in a folder ------------------------------------------------------------------------------------------------------


# -- who is there -----------------------------------------------------------------------------------------------------
