"""The desk: one key's rooms as its client sees them, the duties that can be answered, and what became of the answers.

It gives a `swarm.peers.standing.StandingPeer` a mailbox for each room and watches the rooms' replicas. All of it runs
in the peer's event loop; threads touch only the mailboxes.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agents.agent import Agent, Grounded, NoAnswer, Ratified
from agents.mailbox import Batch, Mailbox, Posted
from protocols.core.message import Message
from protocols.room.room import Room
from protocols.stage.steps import Step
from swarm.mcp.views import brief_view, duty_view, posted_view, room_view, standing_duty, tools_for
from swarm.peers.standing import StandingPeer
from swarm.seat.approval import Approver, NotApproved, request_for
from swarm.seat.mandate import Mandate, breach
from swarm.seat.mandated import Mandated
from swarm.seat.replica import Replica
from swarm.text import shortened
from swarm.visit.saying import tried

BECOMES_S = 15.0
"""How long an answer may take to be read back before the client is told that it is on its way."""
UP_S = 2.0
"""How long a duty that the room has just opened may take to be up."""
MOST_OVER = 64
"""Rooms that are over and still shown; the oldest make room."""
LONGEST_ECHO = 60

T = TypeVar("T")


class Trouble(Exception):
    """What a client asked for is not available; the text says why, and what is."""


@dataclass(slots=True, eq=False)
class _Place:
    """One room: its replica, this member's name there, and its mailbox once the peer has sat down."""

    replica: Replica
    member: str
    watching: "asyncio.Task[None]"
    mailbox: Mailbox | None = None
    told: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def room(self) -> Room:
        return self.replica.room

    def step(self, name: str) -> Step | None:
        """Return the step with this name, open or closed."""
        step = self.room.step
        return step if step is not None and step.id == name else self.room.closed.get(name)

    def up(self, step: str) -> Posted | None:
        """Return the duty that can be answered at *step*."""
        posted = [] if self.mailbox is None else self.mailbox.posted()
        return next((each for each in posted if each.duty.step == step), None)

    def awaits(self, step: str) -> bool:
        """Tell whether the room still waits for this member's answer to *step*."""
        now = self.room.step
        return now is not None and now.id == step and self.member in now.awaited(self.room.present)


class Desk:
    """The rooms of the key *public*, whose client must keep to *mandate*; *approver* is asked for approvals."""

    def __init__(self, public: str, mandate: Mandate | None = None, approver: Approver | None = None) -> None:
        self.connected = False
        """Whether the server was reached."""
        self.peer: StandingPeer | None = None
        """The peer that sits in the rooms."""
        self._public = public
        self._mandate = mandate
        self._approver = approver
        self._places: dict[str, _Place] = {}
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    # -- for the standing peer ------------------------------------------------------------------------------------

    def seen(self, replica: Replica) -> None:
        """Add a room that the peer has read."""
        before = self._places.pop(replica.name, None)
        told: set[tuple[str, ...]] = set()
        if before is not None:
            before.watching.cancel()
            told = before.told
        watching = asyncio.create_task(self._watch(replica))
        place = _Place(replica, replica.fold.names[self._public], watching, told=told)
        if before is None:
            # What held when this process first saw the room is not news, except for a report that waits for an answer.
            place.told |= {key for key, _ in _facts(place) if key[0] != "report"}
        self._places[replica.name] = place
        over = [name for name, each in self._places.items() if each.room.over]
        for name in over[:-MOST_OVER]:
            self._places.pop(name).watching.cancel()
        self._bump()

    def mind(self, replica: Replica, member: str) -> Agent:
        """Return the mailbox for a room, with the client's mandate if it has one."""
        mailbox = self._places[replica.name].mailbox = Mailbox(self._bump_soon)
        return mailbox if self._mandate is None else Mandated(mailbox, self._mandate, self._approver)

    async def close(self) -> None:
        """Stop watching."""
        tasks = [place.watching for place in self._places.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, replica: Replica) -> None:
        seen = replica.version
        while not replica.room.over:
            await replica.changed(seen)
            seen = replica.version
            self._bump()

    def _bump(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _bump_soon(self) -> None:
        with suppress(RuntimeError):  # The process is ending, and the loop with it.
            self._loop.call_soon_threadsafe(self._bump)

    async def _until(self, look: Callable[[], T | None], seconds: float) -> T | None:
        """Return the result of *look*, called again whenever something changed; None if there is none in time."""
        give_up = self._loop.time() + seconds
        while True:
            changed = self._changed
            found = look()
            left_s = give_up - self._loop.time()
            if found is not None or left_s <= 0:
                return found
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await changed.wait()

    # -- looking --------------------------------------------------------------------------------------------------

    def place(self, room: str) -> _Place:
        """Return the place of *room*; raise `Trouble` with the existing rooms."""
        place = self._places.get(room)
        if place is None:
            there = ", ".join(list(self._places)[-10:]) or ("none" if self.connected else "none yet: still connecting")
            raise Trouble(f"you have no room {shortened(room, LONGEST_ECHO)!r}; your rooms: {there}")
        return place

    def rooms(self) -> list[dict[str, Any]]:
        """Return every room with what is open in it."""
        return [
            {
                **room_view(place.room, place.member),
                "open": [posted.duty.act for posted in _up(place)],
                "seated": self._sits_in(place.replica.name),
            }
            for place in self._places.values()
        ]

    @property
    def names(self) -> list[str]:
        """The full names of the rooms."""
        return list(self._places)

    def duties(self, room: str | None, *, brief: bool) -> list[dict[str, Any]]:
        """Return what this member still owes, in one room or in all; duties that can be answered now come first."""
        places = list(self._places.values()) if room is None else [self.place(room)]
        found = [posted_view(place.room, posted, brief=brief) for place in places for posted in _up(place)]
        for place in places:
            standing = None if place.mailbox is None else standing_duty(place.room, place.member)
            if standing is not None:
                told = brief_view(place.room, place.member) if brief else None
                found.append(duty_view(place.replica.name, standing, None, told))
        return found

    async def wait(self, seconds: float) -> dict[str, Any]:
        """Return the duties that can be answered and the news, as soon as there is either; empty if time is up."""
        found = await self._until(self._news, seconds)
        return found or {"duties": [], "news": []}

    def _news(self) -> dict[str, Any] | None:
        places = list(self._places.values())
        duties = [posted_view(place.room, posted, brief=True) for place in places for posted in _up(place)]
        news = []
        for place in places:
            for key, item in _facts(place):
                if key not in place.told:
                    place.told.add(key)
                    news.append({"room": place.replica.name, **item})
        return {"duties": duties, "news": news} if duties or news else None

    # -- answering ------------------------------------------------------------------------------------------------

    async def answer(self, room: str, step: str, tool: str, given: Any, cost: Any = None) -> dict[str, Any]:
        """Answer *step* with *tool* and *given* (a `NoAnswer`: an excuse); return what became of it.

        Raises `Trouble` if nothing of the kind is asked there.
        """
        place = self.place(room)
        found = place.step(step)
        if found is None:
            now = place.room.step
            opened = "no step is open" if now is None else f"the open step is {now.id}"
            raise Trouble(f"{shortened(step, LONGEST_ECHO)} is not open in {room}; {opened}")
        await self._until(lambda: place.up(step) or (None if place.awaits(step) else False), UP_S)
        posted = place.up(step)
        if posted is None:
            if place.awaits(step) and not self._sits_in(room):
                raise Trouble(self._not_seated(room))
            return self._not_wanted(place, found)
        if tool not in tools_for(posted.duty.act):
            raise Trouble(f"{step} asks for {posted.duty.act}; answer with {', '.join(tools_for(posted.duty.act))}")
        assert place.mailbox is not None
        if not place.mailbox.answer(posted, given, cost):
            return self._not_wanted(place, found)
        became = await self._until(lambda: self._became(place, found.id, posted, given), BECOMES_S)
        return became or self._on_its_way(step)

    def _not_wanted(self, place: _Place, step: Step) -> dict[str, Any]:
        """Say why an answer to *step* is not accepted; raise `Trouble` if it never was this member's to give."""
        if place.member in step.answers:
            raise Trouble(f"{step.id} was answered already, at position {step.answers[place.member]}")
        if place.member not in step.expected:
            raise Trouble(f"{step.id} is for {', '.join(step.expected)} to answer")
        if place.member in step.excused:
            why = f"your peer has excused you: {step.excused[place.member]}"
        elif step.closed is not None:
            why = f"it closed at position {step.closed}"
        else:
            why = "its time is up"
        return {"outcome": "too_late", "taken": False, "step": step.id, "why": f"{why}; nothing was said"}

    def _became(self, place: _Place, name: str, posted: Posted, given: Any) -> dict[str, Any] | None:
        """Return what became of the answer *given* to *posted*; None while that is not known."""
        step, again = place.step(name), place.up(name)
        if step is None:
            return None
        if place.member in step.answers:
            return _said(place, step.answers[place.member], given)
        if place.member in step.excused:
            because = step.excused[place.member]
            return {
                "outcome": "excused",
                "taken": isinstance(given, NoAnswer),
                "step": name,
                "position": _own(place, lambda body: body.get("step") == name, step.opened),
                "because": because,
            }
        if again is not None and again is not posted:
            problem = again.duty.problem or "your peer had to begin again before it was said"
            left_s = round(again.seconds_left, 1)
            return {"outcome": "sent_back", "taken": False, "step": name, "problem": problem, "seconds_left": left_s}
        if step.closed is not None:
            return self._not_wanted(place, step)
        return None

    # -- promises and leaving -------------------------------------------------------------------------------------

    async def act(self, room: str, body: Message, cost: Any = None) -> dict[str, Any]:
        """Say *body*, an act on promises, through the peer; return what became of it.

        An act that would be refused is not said.
        """
        place = self.place(room)
        duty = standing_duty(place.room, place.member)
        if duty is None:
            raise Trouble(f"nothing can be said about promises in {room}: {_why_no_promises(place)}")
        if place.mailbox is None or not self._sits_in(room):
            raise Trouble(self._not_seated(room))
        plain = body.plain()
        found = None if self._mandate is None else breach(self._mandate, duty, plain, place.room)
        if found is not None:
            return {"outcome": "not_said", "taken": False, "problem": found.private}
        for finding in tried(place.replica.fold, place.member, body):
            if finding.refused:
                return {"outcome": "refused", "taken": False, "code": finding.code, "problem": finding.text}
        since, mailbox = place.room.position, place.mailbox
        batch = mailbox.act([body], cost)
        became = await self._until(lambda: self._acted(place, plain, since, batch), BECOMES_S)
        if became is None and mailbox.withdraw(batch):
            why = "your peer takes no acts now: a budget is used up or held by an open duty, or it was said in vain"
            return {"outcome": "not_said", "taken": False, "problem": why}
        return became or self._on_its_way("it")

    def _acted(self, place: _Place, plain: dict[str, Any], since: int, batch: Batch) -> dict[str, Any] | None:
        position = _own(place, lambda body: body == plain, since)
        if position is not None:
            said = _said(place, position)
            refused = [f for f in place.room.findings if f.position == position and f.refused]
            if refused:
                return said | {
                    "outcome": "refused",
                    "taken": False,
                    "code": refused[0].code,
                    "problem": refused[0].text,
                }
            return said
        if batch.done and self._awaits_approval(place, plain):
            return self._on_its_way("it")
        if batch.done or place.room.over:
            problem = batch.problem or "it was said before, or the room is over"
            return {"outcome": "not_said", "taken": False, "problem": problem}
        return None

    def _awaits_approval(self, place: _Place, plain: dict[str, Any]) -> bool:
        try:
            return self._mandate is not None and request_for(self._mandate, place.member, plain, place.room) is not None
        except NotApproved:
            return False

    async def leave(self, room: str, because: str) -> dict[str, Any]:
        """Leave *room*; return what became of it."""
        place = self.place(room)
        if place.member in place.room.left:
            raise Trouble(f"you have left {room} already")
        since = place.room.position
        if place.room.over or self.peer is None or not self.peer.leave(room, because):
            raise Trouble(self._not_seated(room))

        def left() -> dict[str, Any] | None:
            position = _own(place, lambda body: body["kind"] == "room.leave", since)
            return None if position is None else _said(place, position)

        return await self._until(left, BECOMES_S) or self._on_its_way("it")

    def _sits_in(self, room: str) -> bool:
        return self.peer is not None and self.peer.sits_in(room)

    def _not_seated(self, room: str) -> str:
        return f"your peer does not sit in {room} now: it is over, was declined, or its log says why"

    def _on_its_way(self, what: str) -> dict[str, Any]:
        why = f"{what} is with your peer, and not on the log yet; see status"
        if self._mandate is not None and self._mandate.approve:
            why += ". A person may have to approve it first"
        return {"outcome": "on_its_way", "taken": True, "why": why}


def _up(place: _Place) -> Sequence[Posted]:
    return [] if place.mailbox is None or place.room.over else place.mailbox.posted()


def _facts(place: _Place) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Return what a client may want to hear, each fact with a key that identifies it."""
    room = place.room
    found: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    if room.tracker is not None:
        for report in room.tracker.awaiting(place.member):
            asked = {"report": report.id, "event": report.event, "by": report.by, "attributes": dict(report.attributes)}
            found.append((("report", report.id), {"what": "report_to_confirm", **asked}))
        for offer in [] if room.promises is None else room.promises.offers(place.member):
            told = offer.model_dump(mode="json", by_alias=True)
            found.append((("offer", offer.id, offer.commitment), {"what": "offer_to_accept", **told}))
        for name, status in room.tracker.statuses().items():
            found.append((("promise", name, status.state), {"what": "promise", "id": name, "state": status.state}))
    if room.ending is not None:
        ending = {"outcome": room.ending.outcome, "reason": room.ending.reason}
        found.append((("ended",), {"what": "ended", **ending}))
    if room.over:
        found.append((("over",), {"what": "over"}))
    return found


def _own(place: _Place, fits: Callable[[dict[str, Any]], bool], since: int) -> int | None:
    """Return the position after *since* of this member's first entry whose body *fits*."""
    key = next(k for k, name in place.replica.fold.names.items() if name == place.member)
    for record in place.replica.fold.records[since:]:
        if record.author == key and record.entry is not None and fits(record.entry.body):
            return record.position
    return None


def _said(place: _Place, position: int, given: Any = None) -> dict[str, Any]:
    """Return what is at *position*; a peer may have said something other than what was *given*."""
    entry = place.replica.fold.records[position - 1].entry
    assert entry is not None
    became: dict[str, Any] = {"outcome": "said", "taken": True, "position": position, "kind": entry.body["kind"]}
    if entry.body["kind"] == "seal":
        return became
    declines = entry.body["kind"] == "room.decline" or entry.body.get("accept") is False
    meant = given.answer if isinstance(given, Grounded) else given
    meant = isinstance(meant, NoAnswer) or (isinstance(meant, Ratified) and not meant.accept)
    if declines and not meant:
        became |= {"outcome": "declined", "taken": False}
    return became | {"body": entry.body}


def _why_no_promises(place: _Place) -> str:
    room = place.room
    if room.promises is None:
        return "its agenda has no commitments"
    return "it is over" if room.over else "it has not begun: not everybody has joined"
