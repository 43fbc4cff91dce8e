"""A NATS client made by hand, and a member that uses it: whatever the protocol and a key allow can be tried.

`Wire` speaks the NATS protocol over a socket of its own and knows no rules. `Insider` holds a member's key: it follows
its room with the ordinary code, signs what a test wants, and puts it on the wire itself.
"""

import asyncio
import json
import secrets
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Self
from urllib.parse import urlsplit

from agents.agent import Agent, Proposed, Scored
from protocols.duties.duties import (
    CloseDuty,
    Duty,
    ImproveDuty,
    JoinDuty,
    ProposeDuty,
    RatifyDuty,
    RevealDuty,
    ScoreDuty,
    TickDuty,
    WitnessDuty,
)
from protocols.messages.concord import Option
from swarm.clock import utc_now
from swarm.errors import SwarmError
from swarm.log.jetstream import JetStreamLog
from swarm.log.port import Log
from swarm.peers.peer import Peer
from swarm.scenario.scenario import read_scenario
from swarm.seat.answers import compose
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.replica import Replica
from swarm.signed.entry import Entry, sign_entry
from swarm.signed.identity import Identity
from swarm.signed.sealing import open_box

ANSWER_S = 10.0


class Refused(Exception):
    """The server said no; the text is what it said."""


class Wire:
    """One connection to a NATS server, logged in with *identity*'s key if there is one. `open` is the way in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, identity: Identity | None) -> None:
        self._reader, self._writer = reader, writer
        self.inbox = f"_INBOX_{identity.public if identity else 'BY_HAND'}.{secrets.token_hex(8)}"
        self.errors: list[str] = []
        self.got: list[tuple[str, bytes]] = []
        self.closed = False
        self._news = asyncio.Event()
        self.pongs = 0
        self._asked = 0
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, url: str, identity: Identity | None = None) -> Self:
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=2**24)
        self = cls(reader, writer, identity)
        info = json.loads((await reader.readline()).partition(b" ")[2])
        login: dict[str, Any] = {
            "verbose": False,
            "pedantic": False,
            "headers": True,
            "no_responders": True,
            "lang": "x",
        }
        login |= {"version": "0", "protocol": 1, "name": "by hand"}
        if identity is not None:
            login |= {"nkey": identity.public, "sig": b64encode(identity.sign_nonce(info["nonce"])).decode()}
        writer.write(b"CONNECT " + json.dumps(login).encode() + b"\r\n")
        self._reading = asyncio.create_task(self._read())
        if identity is not None or not info.get("auth_required"):
            writer.write(f"SUB {self.inbox}.> 1\r\n".encode())
        await self.settle()
        return self

    async def _read(self) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while line := await self._reader.readline():
                verb, *rest = line.split()
                if verb == b"PING":
                    self._writer.write(b"PONG\r\n")
                elif verb == b"PONG":
                    self.pongs += 1
                elif verb == b"-ERR":
                    self.errors.append(line.decode().strip())
                elif verb in (b"MSG", b"HMSG"):
                    data = await self._reader.readexactly(int(rest[-1]) + 2)
                    headers = int(rest[-2]) if verb == b"HMSG" else 0
                    self.got.append((rest[0].decode(), data[headers:-2]))
                self._news.set()
        self.closed = True
        self._news.set()

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until *holds* returns something true, the server hangs up, or an answer is overdue."""
        async with asyncio.timeout(ANSWER_S):
            while not (found := holds()) and not self.closed:
                self._news.clear()
                await self._news.wait()
        return found

    async def send(self, subject: str, payload: bytes, *, headers: bytes = b"", reply: str = "") -> None:
        head = f"{subject} {reply}".strip()
        if headers:
            line = f"HPUB {head} {len(headers)} {len(headers) + len(payload)}\r\n".encode()
        else:
            line = f"PUB {head} {len(payload)}\r\n".encode()
        with suppress(ConnectionError):
            self._writer.write(line + headers + payload + b"\r\n")
            await self._writer.drain()

    async def subscribe(self, subject: str) -> None:
        """Listen to *subject*; raise `Refused`."""
        before = len(self.errors)
        self._writer.write(f"SUB {subject} 2\r\n".encode())
        await self.settle()
        if len(self.errors) > before:
            raise Refused(self.errors[-1])

    async def settle(self) -> None:
        """Wait until the server has dealt with everything so far."""
        before = self.pongs
        with suppress(ConnectionError):
            self._writer.write(b"PING\r\n")
            await self._writer.drain()
        await self.until(lambda: self.pongs > before)

    async def ask(self, subject: str, payload: bytes = b"{}", *, headers: bytes = b"") -> dict[str, Any]:
        """Publish, and return the JSON that answers; raise `Refused` where the server says no, or says an error."""
        self._asked += 1
        inbox, before = f"{self.inbox}.{self._asked}", len(self.errors)
        await self.send(subject, payload, headers=headers, reply=inbox)
        answer = await self.until(
            lambda: len(self.errors) > before or next((data for to, data in self.got if to == inbox), None)
        )
        if len(self.errors) > before or self.closed:
            raise Refused(self.errors[-1] if self.errors else "hung up")
        told: dict[str, Any] = json.loads(answer)
        if "error" in told:
            raise Refused(str(told["error"]))
        return told

    async def close(self) -> None:
        self._writer.close()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        with suppress(ConnectionError):
            await self._writer.wait_closed()


Instead = Callable[["Insider", Duty], Awaitable[bool]]
"""What an attacker does in place of a duty; false: it does its duty after all."""


async def dutiful(insider: "Insider", duty: Duty) -> bool:
    """Attack nothing."""
    return False


class Insider:
    """A member with a key and a hand-made client."""

    def __init__(self, name: str, identity: Identity, wire: Wire, replica: Replica) -> None:
        self.name, self.identity, self.wire, self.replica = name, identity, wire, replica
        self.room = replica.name

    def subject(self, key: str | None = None) -> str:
        return f"swarm.room.{self.room}.{key or self.identity.public}"

    def sign(self, body: dict[str, Any], **odd: Any) -> Entry:
        """Sign what it would say next; *odd* replaces fields of the envelope, ``identity`` the signer."""
        chain = self.replica.fold.chain
        ids = chain.authors[self.identity.public].ids
        fields: dict[str, Any] = {
            "room": self.room,
            "n": len(ids) + 1,
            "prev": ids[-1] if ids else None,
            "seen": (chain.position, chain.head),
            "sent": utc_now(),
            "body": body,
        }
        return sign_entry(odd.pop("identity", self.identity), **{**fields, **odd})

    async def put(self, payload: bytes, *, headers: bytes = b"") -> list[str]:
        """Store *payload* on the own subject, and return the codes of what all make of it."""
        sequence = (await self.wire.ask(self.subject(), payload, headers=headers))["seq"]
        while self.replica.after.get(self.identity.public, 0) < sequence:
            await self.replica.refresh()
        place = next((r.position for r in reversed(self.replica.fold.records) if r.payload == payload), 0)
        return [f.code for f in self.replica.room.findings if f.position == place and f.who == self.name]

    async def say(self, body: dict[str, Any], **odd: Any) -> list[str]:
        """Sign *body*, store it, and return what all make of it; somebody may speak meanwhile, so try again."""
        await self.replica.refresh()
        return await self.put(self.sign(body, **odd).payload)

    def body(self, duty: Duty) -> dict[str, Any]:
        """Return what an honest member says to *duty*."""
        room, step = self.replica.room, duty.step
        if isinstance(duty, JoinDuty):
            return {"kind": "room.join", "step": step, "opening": duty.opening, "manifest": {"agent": "scripted"}}
        if isinstance(duty, ProposeDuty):
            return compose(duty, Proposed(Option(title="wed", offer={"day": "wed"})), room, self.identity)
        if isinstance(duty, ScoreDuty):
            return compose(duty, Scored({asked.id: 70 for asked in duty.options}), room, self.identity)
        if isinstance(duty, RevealDuty):
            own = self.opened(duty.sealed_step)
            return {"kind": "reveal", "step": step, "nonce": own.nonce, "content": own.content}
        if isinstance(duty, ImproveDuty):
            return {"kind": "concord.pass", "step": step, "standing": duty.standing}
        if isinstance(duty, RatifyDuty):
            return {"kind": "concord.ratify", "step": step, "outcome": duty.digest, "accept": True}
        if isinstance(duty, CloseDuty):
            return {"kind": "room.close", "step": step, "digest": duty.digest}
        assert isinstance(duty, WitnessDuty), duty
        return {"kind": "room.witness", "step": step}

    def round(self, sealed_step: str) -> Any:
        concord = self.replica.room.concord
        assert concord is not None
        return next(each for each in concord.rounds() if each.seal_step == sealed_step)

    def opened(self, sealed_step: str) -> Any:
        """Open the own box of *sealed_step*."""
        round_ = self.round(sealed_step)
        return open_box(self.identity, self.room, sealed_step, round_.seals[self.name], round_.boxes[self.name])

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until *holds* returns something true of the room as it follows it."""
        async with asyncio.timeout(ANSWER_S):
            while not (found := holds()):
                await self.replica.changed(self.replica.version)
        return found

    async def play(self, instead: Instead = dutiful) -> None:
        """Do each duty, or what *instead* does in its place, until the room is over."""
        done: set[str] = set()
        while not self.replica.room.over:
            seen = self.replica.version
            for duty in self.replica.room.duties(self.name):
                if duty.step is not None and duty.step not in done and not isinstance(duty, TickDuty):
                    done.add(duty.step)
                    if not await instead(self, duty):
                        await self.say(self.body(duty))
            with suppress(TimeoutError):
                await asyncio.wait_for(self.replica.changed(seen), 0.2)


class Siege:
    """ann and bob sit honestly in a room on a real server; cyd has a hand-made client."""

    NAMES = ("ann", "bob", "cyd")

    def __init__(
        self, url: str, identities: dict[str, Identity], agent: Callable[[str], Agent], login: bool = True
    ) -> None:
        self.url, self.identities, self._agent, self._login = url, identities, agent, login
        self.came_to: dict[str, dict[str, Any]] = {}

    def key(self, name: str) -> str:
        return self.identities[name].public

    def _user(self, name: str) -> Identity | None:
        return self.identities[name] if self._login else None

    async def opened(self, log: Log, scenario: dict[str, Any]) -> Entry:
        keys = {name: self.key(name) for name in self.NAMES}
        entry = sign_opening(self.identities["ann"], read_scenario(scenario).opening(keys), utc_now())
        await publish_opening(log, entry)
        return entry

    @asynccontextmanager
    async def room(self, scenario: dict[str, Any], honest: tuple[str, ...] = ("ann", "bob")) -> Any:
        """Open a room, seat who is honest, and yield the insider; on leaving wait until all are done."""
        async with AsyncExitStack() as stack:
            log = await stack.enter_async_context(await JetStreamLog.connect(self.url, identity=self._user("cyd")))
            mine = await stack.enter_async_context(await JetStreamLog.connect(self.url, identity=self._user("ann")))
            entry = await self.opened(mine, scenario)
            replica = Replica(log, entry.room, self.key("ann"), utc_now)
            await replica.open()
            wire = await Wire.open(self.url, self._user("cyd"))
            stack.push_async_callback(wire.close)
            following = asyncio.create_task(replica.follow())
            seats = {name: asyncio.create_task(self._seat(name, entry)) for name in honest}
            try:
                yield Insider("cyd", self.identities["cyd"], wire, replica)
                self.came_to = dict(zip(seats, await asyncio.gather(*seats.values()), strict=True))
            finally:
                for task in (following, *seats.values()):
                    task.cancel()
                await asyncio.gather(following, *seats.values(), return_exceptions=True)

    async def _seat(self, name: str, entry: Entry) -> dict[str, Any]:
        async with await JetStreamLog.connect(self.url, identity=self._user(name)) as log:
            peer = Peer(self._agent(name), self.identities[name], self.url)
            try:
                return await peer.join_on(log, entry.room, entry.author)
            except SwarmError as error:
                return {"outcome": type(error).__name__, "reason": str(error), "findings": []}

    # What it came to

    @property
    def outcomes(self) -> set[str]:
        return {each["outcome"] for each in self.came_to.values()}

    def blamed(self, code: str, by: str = "ann") -> list[str]:
        return [f["who"] for f in self.came_to[by]["findings"] if f["code"] == code]
