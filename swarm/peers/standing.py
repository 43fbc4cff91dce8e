"""A standing peer: one key and one agent file, in every room to which it is invited and may join.

It follows its invitations over one connection and sits in many rooms at once, with a mind of its own in each. The agent
file says whose rooms it joins, and within which bounds. A bad invitation is ignored, with one line in the log. If a
room of an accepted opener is outside the bounds, the peer declines there, with the reason.

It keeps only the last signed bytes of each room: after a restart, the log says what is still owed. When it is told to
stop, it takes no more rooms, signs nothing more, and waits until what it has sent has been read back.
"""

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from agents.agent import Agent, NoAnswer
from protocols.duties.duties import JoinDuty
from protocols.messages.room import Leave, Manifest
from protocols.room.room import Room
from swarm.backoff import Backoff
from swarm.clock import utc_now
from swarm.errors import BadEntry, BadInput, SwarmError, Unavailable
from swarm.files.document import load
from swarm.ledger.fold import read_opening
from swarm.ledger.status import status_of
from swarm.log.port import Log, Stored
from swarm.peers.hooks import Hooks
from swarm.peers.kept import Gate, Rooms, Stopping
from swarm.scenario.accepting import outside
from swarm.scenario.members import AgentFile, agent_config, read_agent
from swarm.scenario.minds import make_agent
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.signed.identity import NO_KEY, Identity, is_public_key
from swarm.signed.invitation import Invitation, read_invitations
from swarm.tasks import together, until_first, whatever_happens
from swarm.text import visible

_log = logging.getLogger(__name__)

LOOK_EVERY_S = (15.0, 30.0)
"""How often to look for invitations without a wake-up, which may get lost."""
LOOK_AGAIN_S = 2.0
"""How soon to look again after a wake-up: the server that answered may not have had what it announced."""
LEAST_BETWEEN_LOOKS_S = 0.1
"""The shortest time between two looks: anybody who may log in can announce without end, and this bounds the cost."""
RETRY_S = (0.2, 30.0)
"""The first and the longest pause, jittered, while the log is out of reach."""
OPENING_S = 15.0
"""How long a room may take to appear after the invitation to it."""
OPENING_EVERY_S = 0.5
READ_S = 30.0
"""How long it may take to read a room up to now."""
PARTING_S = 10.0
"""How long to wait, once told to stop, for sent entries to come back."""
WAITING_S = 2
"""How long an answer of this member must have been awaited before its owner is told, because minds may be quick."""
MOST_ROOMS = 256
"""Rooms at once; further invitations wait for one of them to end."""
REMEMBERED = 10_000
"""How many finished rooms are remembered; a forgotten one is read again if somebody still invites to it."""


@dataclass(frozen=True, slots=True)
class Over:
    """A room that this peer saw end: its outcome, and the reason if there is one."""

    room: str
    outcome: str
    reason: str | None


class _Ignored(SwarmError):
    """A room that is not one of ours; the text says why."""


class _Declining(Agent):
    """The mind that declines a room."""

    def __init__(self, because: str) -> None:
        self._because = because

    def manifest(self) -> Manifest:
        raise NoAnswer(self._because)


def read_agent_file(path: str | os.PathLike[str]) -> AgentFile:
    """Return the agent file at *path*, ready to make minds from; raise `BadInput` if that is impossible.

    Classes and commands of the user's, for the mind or as hooks, are searched from the file's own folder.
    """
    file, beside = read_agent(load(path)), Path(path).resolve().parent
    file = file.model_copy(update={"on": file.on.beside(beside)})
    if "folder" in type(file.member).model_fields:
        folder = beside / (getattr(file.member, "folder", None) or "")
        file = file.model_copy(update={"member": file.member.model_copy(update={"folder": str(folder)})})
    make_agent(agent_config(file.member))
    return file


@dataclass(slots=True)
class _Leaving:
    """Set once this peer is told to leave a room, and why."""

    told: asyncio.Event = field(default_factory=asyncio.Event)
    because: str | None = None


class StandingPeer:
    """The key *identity* with the minds of *file*, in rooms on *log*.

    *accept* adds to the openers that the file accepts; the key itself is always one. *tell* is called with each room
    that this peer saw end. With *once*, it leaves after the first. Setting *stop* ends it in order.

    *seen* is called with each room in which this key has a seat, read up to now, before it sits down there; with
    *keep*, the room's records are kept. *minds* makes the mind for a room and the member's name in it, instead of the
    file. *person* says where people are asked (`swarm.people.approving.people_for`). The commands that *file* names are
    told what its rooms want of this member, which promises broke or hang, and each end.
    """

    def __init__(
        self,
        file: AgentFile,
        identity: Identity,
        log: Log,
        *,
        rooms: Rooms,
        accept: Iterable[str] = (),
        tell: Callable[[Over], None] = lambda over: None,
        once: bool = False,
        stop: asyncio.Event | None = None,
        seen: Callable[[Replica], None] = lambda replica: None,
        keep: bool = False,
        minds: Callable[[Replica, str], Agent] | None = None,
        person: Mapping[str, object] | None = None,
    ) -> None:
        self._file = file
        self._identity = identity
        self._log = log
        self._kept = rooms
        self._openers = accepted_openers(file, accept) | {identity.public}
        self._tell = tell
        self._once = once
        self._stop = asyncio.Event() if stop is None else stop
        self._seen = seen
        self._keep = keep
        self._minds = minds
        self._person = dict(person or {})
        self._hooks = Hooks(file.on)
        self._rooms: dict[str, anyio.CancelScope] = {}
        self._group: TaskGroup | None = None
        """The rooms in which the peer takes part; set while `run` runs."""
        self._left = asyncio.Event()
        """Set whenever the peer's part in a room ends."""
        self._seated: set[str] = set()
        self._leaving: dict[str, _Leaving] = {}
        self._done: dict[str, None] = {}
        self._looked_at: dict[str, int] = {}

    def stop(self) -> None:
        """Take no more rooms, let entries in flight be read back, and leave."""
        self._stop.set()

    def sits_in(self, room: str) -> bool:
        """Return whether this peer has taken its seat in *room* and not left it again."""
        return room in self._seated

    def leave(self, room: str, because: str) -> bool:
        """Say in *room* that this member leaves it, once nothing else is in flight; return whether it sits there."""
        leaving = self._leaving.get(room)
        if room not in self._seated or leaving is None or leaving.told.is_set():
            return False
        leaving.because = because
        leaving.told.set()
        return True

    async def run(self) -> None:
        """Run until `stop`; raises a `SwarmError` if invitations cannot be followed at all.

        If something goes wrong in one room, the peer's part there ends, with a line in the log, and nothing else does.
        """
        async with together() as self._group:
            for room, opener in self._kept.unfinished():
                self._take(room, opener)
            try:
                await until_first(self._follow_invitations, self._stop.wait)
            finally:
                self._stop.set()
                async with whatever_happens(3 * PARTING_S):
                    await self._leave()
                    await self._hooks.close(PARTING_S)
                self._group.cancel_scope.cancel()

    async def _leave(self) -> None:
        """End all rooms: those where it sits once nothing is in flight, the others at once."""
        for room, scope in self._rooms.items():
            if room not in self._seated:
                scope.cancel()
        # Each has its own deadline; this one is for those that ignore it.
        with anyio.move_on_after(2 * PARTING_S):
            while self._rooms:
                self._left.clear()
                await self._left.wait()

    # -- invitations ----------------------------------------------------------------------------------------------

    async def _follow_invitations(self) -> None:
        backoff = Backoff(*RETRY_S)
        while True:
            try:
                async with self._log.wakeups_of_invitations(self._identity.public) as wakeups:
                    while True:
                        self._consider(await self._log.invitations(self._identity.public))
                        backoff.reset()
                        woken = await wakeups.wait(random.uniform(*LOOK_EVERY_S))
                        while woken:
                            await asyncio.sleep(LEAST_BETWEEN_LOOKS_S)
                            self._consider(await self._log.invitations(self._identity.public))
                            woken = await wakeups.wait(LOOK_AGAIN_S)
            except Unavailable as error:
                _log.info("invitations cannot be read: %s", error)
                await asyncio.sleep(backoff.pause_s())

    def _consider(self, found: list[Stored]) -> None:
        """Join the rooms to which these invitations point. An invitation that was looked at before is skipped."""
        before, self._looked_at = self._looked_at, {}
        for stored in found:
            if before.get(stored.author) != stored.sequence and not self._take_all(stored):
                continue
            self._looked_at[stored.author] = stored.sequence

    def _take_all(self, stored: Stored) -> bool:
        """Take the rooms to which *stored* points; return whether there is nothing left to take."""
        if stored.author not in self._openers:
            _log.warning("ignored: an invitation by %s, who is no accepted opener", visible(stored.author))
            return True
        try:
            invitations = read_invitations(stored.author, stored.payload)
        except BadEntry as error:
            _log.warning("ignored: an invitation by %s: %s", stored.author, visible(str(error)))
            return True
        return all([self._accept(invitation) for invitation in invitations])

    def _accept(self, invitation: Invitation) -> bool:
        if invitation.room in self._rooms or invitation.room in self._done:
            return True
        if len(self._rooms) >= MOST_ROOMS:
            return False
        self._take(invitation.room, invitation.opener)
        return True

    def _take(self, room: str, opener: str) -> None:
        assert self._group is not None
        self._rooms[room] = anyio.CancelScope()
        self._group.start_soon(self._attend, room, opener)

    # -- one room -------------------------------------------------------------------------------------------------

    async def _attend(self, room: str, opener: str) -> None:
        """Take part in *room* until it is over or this peer stops.

        Wait, at growing intervals, for a log out of reach.
        """
        backoff = Backoff(*RETRY_S)
        try:
            with self._rooms[room]:
                # The same gate for every try: signed bytes may still be on their way.
                gate = Gate(self._kept.outbox(room, opener))
                while not self._stop.is_set():
                    try:
                        await self._sit(room, opener, gate)
                        break
                    except Unavailable as error:
                        self._seated.discard(room)
                        _log.warning("%s: %s; trying again", room, visible(str(error)))
                    with anyio.move_on_after(backoff.pause_s()):
                        await self._stop.wait()
        except Stopping:
            pass
        except _Ignored as why:
            _log.warning("ignored: %s: %s", room, visible(str(why)))
        except SwarmError as error:
            _log.error("%s: this peer stops there: %s", room, visible(str(error)))
        except Exception:
            _log.exception("%s: this peer stops there, by a fault of its own", room)
        finally:
            self._seated.discard(room)
            self._hooks.forget(room)
            del self._rooms[room]
            self._left.set()
            self._done[room] = None
            if len(self._done) > REMEMBERED:
                del self._done[next(iter(self._done))]

    async def _sit(self, room: str, opener: str, gate: Gate) -> None:
        replica = await self._read(room, opener)
        self._seen(replica)
        if replica.room.over:
            if self._hooks.wanted and gate.kept() is not None:
                self._tell_hooks(replica)  # The room ended while this peer was away.
            self._kept.forget(room, opener)
            return
        async with together() as group:
            group.start_soon(self._tell_owner, replica)
            while not replica.room.over and not self._stop.is_set():
                because = await self._sit_down(replica, gate)
                if because is not None and not self._stop.is_set():
                    speaker = Speaker(self._identity, replica, gate, utc_now, patience_s=READ_S)
                    await speaker.recover()
                    await speaker.say(Leave(because=because).plain())
            group.cancel_scope.cancel()
        if replica.room.over:
            self._kept.forget(room, opener)
            if self._hooks.wanted:
                self._tell_hooks(replica)
            self._finish(replica.room)

    async def _sit_down(self, replica: Replica, gate: Gate) -> str | None:
        """Sit in the room until it is over, this peer stops, or it is told to leave; return the reason for leaving."""
        seat = Seat(self._identity, self._mind(replica), replica, gate, utc_now)
        leaving = self._leaving[replica.name] = _Leaving()
        self._seated.add(replica.name)
        ended = asyncio.Event()
        because: str | None = None

        async def work(it: Callable[[], Awaitable[None]]) -> None:
            try:
                await it()
            except SwarmError:
                if not gate.shut:
                    raise
            ended.set()

        try:
            async with together() as group:
                group.start_soon(work, replica.follow)
                group.start_soon(work, seat.run)
                await until_first(ended.wait, self._stop.wait, leaving.told.wait)
                if not ended.is_set():
                    because = leaving.because
                    gate.shut = True
                    await self._read_back(replica, gate, ended)
                    gate.shut = self._stop.is_set()
                group.cancel_scope.cancel()
        finally:
            del self._leaving[replica.name]
        return because

    async def _read(self, room: str, opener: str) -> Replica:
        """Return a replica of *room*, read up to now; raise `_Ignored` if this key has no seat there."""
        give_up = asyncio.get_running_loop().time() + OPENING_S
        while (first := await self._log.first(room, opener)) is None:
            if asyncio.get_running_loop().time() > give_up:
                raise _Ignored(f"there is no such room by {opener} on this server")
            await asyncio.sleep(OPENING_EVERY_S)
        replica = Replica(self._log, room, opener, utc_now, keep=self._keep)
        try:
            # What costs little is looked at before anything is folded.
            if self._identity.public not in [entry.key for entry in read_opening(first, room).roster]:
                raise _Ignored("it has no seat for this key")
            await replica.open(timeout_s=READ_S)
        except BadEntry as error:
            raise _Ignored(f"its opening is none: {error}") from None
        return replica

    def _mind(self, replica: Replica) -> Agent:
        """Return a fresh mind for a room, or one that declines it; bounds apply only to rooms not yet joined."""
        room, name = replica.room, replica.name
        member = next(each.name for each in room.setting.opening.roster if each.key == self._identity.public)
        because = outside(self._file.accepts, room.setting.opening, member)
        if because is not None and any(isinstance(duty, JoinDuty) for duty in room.duties(member)):
            _log.warning("%s: declined: %s", name, visible(because))
            return _Declining(because)
        _log.info("%s: taking part as %s", name, visible(member))
        if self._minds is not None:
            return self._minds(replica, member)
        return make_agent({**agent_config(self._file.member), **self._person, "name": member})

    async def _read_back(self, replica: Replica, gate: Gate, ended: asyncio.Event) -> None:
        """Wait until everything sent is known to be said, or the seat has *ended*; at most `PARTING_S` seconds."""
        said = replica.fold.chain.authors[self._identity.public].ids
        with anyio.move_on_after(PARTING_S):
            while not ended.is_set():
                seen = replica.version
                if not gate.in_flight(len(said)):
                    return
                await until_first(partial(replica.changed, seen), ended.wait)
            return
        _log.warning("%s: what was said last has not come back; it is sent again after a restart", replica.name)

    async def _tell_owner(self, replica: Replica) -> None:
        """Tell the owner's commands what comes up in the replica's room, until cancelled."""
        while self._hooks.wanted:
            version = replica.version
            young = self._tell_hooks(replica)
            with anyio.move_on_after(WAITING_S if young else None):
                await replica.changed(version)

    def _tell_hooks(self, replica: Replica) -> bool:
        """Report what is due now; return whether time alone may make more due."""
        stands, me = status_of(replica.fold, utc_now()), replica.fold.names[self._identity.public]
        own = [awaited for awaited in stands["waiting"] if awaited["member"] == me]
        due = [awaited for awaited in own if awaited["seconds"] >= WAITING_S]
        self._hooks.tell_of({**stands, "waiting": due})
        return len(due) < len(own)

    def _finish(self, room: Room) -> None:
        assert room.ending is not None
        self._tell(Over(room.setting.room, room.ending.outcome, room.ending.reason))
        if self._once:
            self.stop()


def accepted_openers(file: AgentFile, more: Iterable[str]) -> frozenset[str]:
    """Return the openers of *file* and those in *more*; raise `BadInput` for one that is not a public key."""
    openers = frozenset([*file.accepts.openers, *more])
    for opener in sorted(openers):
        if not is_public_key(opener):
            raise BadInput(f"an accepted opener: {opener!r} is {NO_KEY}")
    return openers
