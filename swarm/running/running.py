"""`swarm run`: a scenario becomes a room, each of its members a process, and what they said becomes a ledger.

The parent opens the room as the first member, starts the members' processes, follows the log like everybody else to
show what happens, and writes the ledger and the roster when the room is over or is left. However a run ends, everything
that it has started ends first; what was said until then is in the ledger.
"""

import asyncio
import contextlib
import json
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import anyio

from swarm.clock import utc_now
from swarm.errors import BadEntry, BadInput, SwarmError, WireError
from swarm.files.document import Document, Source, load
from swarm.files.writing import check_writable, replace_text
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.memory import MemoryLog
from swarm.log.port import Log
from swarm.log.servers import check_server
from swarm.log.tls import trusted
from swarm.people.approving import people_for
from swarm.running.kept import Kept
from swarm.running.processes import Processes
from swarm.running.result import RunResult, Written
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import Scenario, read_scenario
from swarm.seat.opening import kept_opening, publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import Entry
from swarm.tasks import alone, together, unless, whatever_happens

T = TypeVar("T")

Watcher = Callable[[Fold], None]
"""Called with the fold whenever the parent has folded more. An exception ends the run, and is raised after that."""

PARTING_S = 10.0
"""How long members have to end by themselves once the room is over."""
REACH_S = 10.0
"""How long it may take to reach the server, and again to have the opening accepted."""
LAST_LOOK_S = 2.0
LONGEST_PARTING_S = 30.0
"""How long to wait for members at the very end, even if the run is cancelled; by then their processes are killed."""


async def arun(
    scenario: Source,
    *,
    memory: bool = False,
    ledger: str | os.PathLike[str] | None = None,
    roster: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    server: str | None = None,
    tls_ca: str | os.PathLike[str] | None = None,
    watch: Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> RunResult:
    """Run a scenario like `run`, for callers that have an event loop: an async test, a web service, a notebook.

    Signals remain the caller's. Once *stop* is set, the run ends in order and is reported as abandoned. If the call is
    cancelled, its processes end before the cancellation goes on.
    """
    parsed = read_scenario(load(scenario))
    for member in parsed.members:
        make_agent(agent_config(member))
    person = people_for(parsed.members, None if directory is None else Path(directory))
    if memory and (directory is not None or server is not None):
        raise BadInput("a run in memory has neither a directory nor a server")
    if server is not None:
        check_server(server)
        trusted(tls_ca)
    elif tls_ca is not None:
        raise BadInput("--tls-ca goes with --server")
    source = None if isinstance(scenario, Mapping | Document) else Path(scenario)
    paths = [Path(path) if path is not None else None for path in (ledger, roster)]
    check_writable(paths, source)
    with Kept.at(None if directory is None else Path(directory), parsed.names) as kept:
        job = _Run(parsed, kept, ledger=paths[0], roster=paths[1], server=server, tls_ca=tls_ca, watch=watch, stop=stop)
        job.person = person
        return await (job.in_memory() if memory else job.in_processes())


def run(
    scenario: Source,
    *,
    memory: bool = False,
    ledger: str | os.PathLike[str] | None = None,
    roster: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    server: str | None = None,
    tls_ca: str | os.PathLike[str] | None = None,
    watch: Watcher | None = None,
) -> RunResult:
    """Run a scenario to its end.

    Args:
        scenario: A scenario's path, or what such a file holds as plain data.
        memory: Seat all members in this process, over a log in memory. Otherwise each member is a process of its own.
        ledger: Where to write the signed ledger.
        roster: Where to write the members' public keys.
        directory: Where to keep the server's store, the keys and the outboxes; the same call resumes a run cut off.
        server: URLs of a NATS server, with commas between them; left out, an embedded one is started.
        tls_ca: A file with the authority that signed the server's certificate.
        watch: Called with the fold of the log whenever it has grown.

    Returns:
        What the run came to; whatever happens once the room is open is told there.

    Raises:
        BadInput: The scenario or a path cannot be used.
        RuntimeError: An event loop is running in this thread; `await` `arun` there.

    Example:
        >>> from swarm import run
        >>> run("examples/renewal.yaml", memory=True).outcome
        'agreed'
    """

    async def until_told() -> RunResult:
        with _signals() as stop:
            return await arun(
                scenario,
                memory=memory,
                ledger=ledger,
                roster=roster,
                directory=directory,
                server=server,
                tls_ca=tls_ca,
                watch=watch,
                stop=stop,
            )

    return alone(until_told, "arun")


class _Run:
    """One run of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        kept: Kept,
        *,
        ledger: Path | None,
        roster: Path | None,
        server: str | None,
        tls_ca: str | os.PathLike[str] | None,
        watch: Watcher | None,
        stop: asyncio.Event | None,
    ) -> None:
        self._scenario = scenario
        self._kept = kept
        self._ledger = ledger
        self._roster = roster
        self._server = server
        self._tls_ca = None if tls_ca is None else os.path.abspath(tls_ca)
        self._watch = watch
        self._started = monotonic()
        self._stop = stop or asyncio.Event()
        self._opener = kept.identities[scenario.names[0]]
        self.person: dict[str, Any] = {}
        """Where people are asked, for those members that need one (`people_for`)."""

    def _config(self, member: Any) -> dict[str, Any]:
        return {**agent_config(member), **self.person}

    async def in_memory(self) -> RunResult:
        """Seat everyone in this process."""
        async with MemoryLog() as log:
            replica = await self._open(log)
            why: list[str] = []

            async def sit(member: Any) -> None:
                identity, mind = self._kept.identities[member.name], make_agent(self._config(member))
                try:
                    await Seat(identity, mind, replica, MemoryOutbox(), utc_now).run()
                except SwarmError as error:
                    why.append(str(error))

            seats, ended = anyio.CancelScope(), asyncio.Event()

            async def all_sit() -> None:
                with seats:
                    async with together() as group:
                        for member in self._scenario.members:
                            group.start_soon(sit, member)
                ended.set()

            async def part() -> None:
                seats.cancel()
                await ended.wait()

            async with together() as group:
                group.start_soon(all_sit)
                interrupted = await self._until_over(
                    replica, ended.wait, None, part, lambda: ", ".join(dict.fromkeys(why))
                )
            return self._finish(replica.fold, interrupted)

    async def in_processes(self) -> RunResult:
        """Start one process for each member, over an embedded or another server; whatever happens, all of them end."""
        async with AsyncExitStack() as stack:
            members = Processes()
            stack.push_async_callback(members.end)
            if self._kept.opening.kept() is None:
                await self._start(members)
            url, broker, log = await self._unless_stopped(lambda: self._reach(stack))
            replica = await self._unless_stopped(lambda: self._open(log, members))
            if not members and not replica.room.over:
                await self._start(members)
            login = broker is not None
            where = {"room": replica.name, "opener": self._opener.public, "server": url}
            members.sit({**where, "login": login, "tls_ca": self._tls_ca})
            lost = None if broker is None else broker.wait
            interrupted = await self._until_over(replica, members.ended, lost, members.end, members.why)
            return self._finish(replica.fold, interrupted)

    async def _start(self, members: Processes) -> None:
        for member in self._scenario.members:
            private = self._kept.private(member.name)
            await members.start(member.name, {"name": member.name, "agent": self._config(member), **private})

    async def _unless_stopped(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of *work*, unless the run is told to end meanwhile and *work* does not end soon."""
        result = await unless(self._stop, work, grace_s=LAST_LOOK_S)
        if result is None:
            raise SwarmError("interrupted before the room was open")
        return result

    async def _reach(self, stack: AsyncExitStack) -> tuple[str, Any, Log]:
        from swarm.broker.server import Broker
        from swarm.log.jetstream import JetStreamLog
        from swarm.log.streams import ensure_streams

        broker = None
        if self._server is not None:
            url = self._server
            await ensure_streams(url, tls=trusted(self._tls_ca), timeout_s=REACH_S)
        else:
            keys = [identity.public for identity in self._kept.identities.values()]
            broker = await stack.enter_async_context(Broker(self._kept.broker, members=keys))
            url = broker.url
        login = self._opener if broker is not None else None
        tls = trusted(self._tls_ca)
        log = await JetStreamLog.connect(url, identity=login, name="swarm-run", tls=tls, timeout_s=REACH_S)
        return url, broker, await stack.enter_async_context(log)

    async def _open(self, log: Log, members: Processes | None = None) -> Replica:
        """Open the room once its *members* are ready, or find the one that was opened before the run was cut off."""
        entry = await self._opened_before(log)
        if entry is None:
            if members is not None:
                await members.ready()
            keys = {name: identity.public for name, identity in self._kept.identities.items()}
            entry = sign_opening(self._opener, self._scenario.opening(keys), utc_now())
            self._kept.opening.keep(entry.payload)
            await publish_opening(log, entry, patience_s=REACH_S)
        replica = Replica(log, entry.room, self._opener.public, utc_now)
        await replica.open()
        return replica

    async def _opened_before(self, log: Log) -> Entry | None:
        payload = self._kept.opening.kept()
        if payload is None:
            return None
        source = str(self._kept.directory)
        try:
            entry = kept_opening(payload)
            keys = {name: identity.public for name, identity in self._kept.identities.items()}
            same = self._scenario.opening(keys, entry.body["nonce"]).plain() == entry.body
        except (BadEntry, KeyError, ValueError) as error:
            raise BadInput(f"the opening kept here cannot be read: {error}", source=source) from None
        if not same:
            raise BadInput("a run of another scenario is kept here; use another --dir for this one", source=source)
        if await log.first(entry.room, entry.author) is not None:
            return entry
        if self._kept.spoken():
            text = f"the run kept here is not on this server: {entry.room}; use the server that it began on"
            raise BadInput(text, source=source)
        return None  # The opening was never stored, and by now its date would be disputed.

    async def _until_over(
        self,
        replica: Replica,
        ended: Callable[[], Awaitable[object]],
        lost: Callable[[], Awaitable[object]] | None,
        part: Callable[[], Awaitable[None]],
        why: Callable[[], str],
    ) -> str | None:
        """Follow the room until it is over or nobody can go on, let its members *part*, and read a last time.

        Return what interrupted it, if anything did.
        """
        came: dict[str, Exception | None] = {}
        changed = asyncio.Event()

        async def note(what: str, work: Callable[[], Awaitable[object]]) -> None:
            try:
                await work()
            except Exception as error:
                came[what] = error
            else:
                came[what] = None
            changed.set()

        works = {
            "shown": lambda: self._show(replica),
            "stopped": self._stop.wait,
            "lost": lost,
            "ended": ended,
            "followed": replica.follow,
        }
        async with together() as group:
            try:
                for what, work in works.items():
                    if work is not None:
                        group.start_soon(note, what, work)
                await changed.wait()
                interrupted = _interruption(came, why)
                if interrupted is None:
                    with anyio.move_on_after(PARTING_S):
                        while not came.keys() & {"ended", "stopped"}:
                            changed.clear()
                            await changed.wait()
            finally:
                async with whatever_happens(LONGEST_PARTING_S):
                    await part()
            group.cancel_scope.cancel()
        if interrupted != "broker lost":
            with contextlib.suppress(WireError):
                await replica.refresh(timeout_s=LAST_LOOK_S)
        if (failure := came.get("shown")) is not None:
            self._finish(replica.fold, interrupted)
            raise failure
        self._show_now(replica)
        return interrupted

    async def _show(self, replica: Replica) -> None:
        """Show every change until the room is over."""
        while True:
            version = replica.version
            self._show_now(replica)
            if replica.room.over:
                return
            await replica.changed(version)

    def _show_now(self, replica: Replica) -> None:
        if self._watch is not None:
            self._watch(replica.fold)

    def _finish(self, fold: Fold, interrupted: str | None) -> RunResult:
        """Write the ledger and the roster, and return the result."""
        chain, room = fold.chain, fold.room
        if self._ledger is not None:
            checkpoint = sign_checkpoint(self._opener, room=chain.room, count=chain.position, head=chain.head)
            write_ledger(self._ledger, chain.room, fold.records, checkpoint)
        if self._roster is not None:
            replace_text(self._roster, _roster_text({name: key for key, name in fold.names.items()}), "roster")
        outcome, reason = ("unfinished", None) if room.ending is None else (room.ending.outcome, room.ending.reason)
        if outcome == "unfinished" or (interrupted is not None and not room.over):
            left = "" if outcome == "unfinished" else f" after the room ended {outcome}"
            outcome, reason = "abandoned", f"{interrupted or 'unfinished'}{left}"
        return RunResult(
            room=chain.room,
            outcome=outcome,
            reason=reason,
            ledger=Written(None if self._ledger is None else str(self._ledger), chain.position, chain.head),
            seconds=round(monotonic() - self._started, 3),
            fold=fold,
        )


def _interruption(came: Mapping[str, Exception | None], why: Callable[[], str]) -> str | None:
    """Return what interrupted a run, judged by what *came* to its end first; None if the room was over."""
    if "shown" in came:
        return None if came["shown"] is None else "not shown any more"
    if "stopped" in came:
        return "interrupted"
    if "lost" in came:
        return "broker lost"
    if "ended" in came:
        return f"all members stopped: {why()}"
    return str(came["followed"])


@contextmanager
def _signals() -> Iterator[asyncio.Event]:
    """Yield an event that is set by the signals that ask a program to end; ignored signals stay ignored."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if threading.current_thread() is threading.main_thread() and handler != signal.SIG_IGN:
            loop.add_signal_handler(number, stop.set)
            before[number] = handler
    try:
        yield stop
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _roster_text(roster: Mapping[str, str]) -> str:
    lines = ["# Public keys of a room's members: what an audit pins.\n"]
    lines += [f"{json.dumps(name, ensure_ascii=False)}: {key}\n" for name, key in roster.items()]
    return "".join(lines)
