"""`swarm run`: a scenario becomes a room; its members sit down, each in a process of its own; what they said stays.

The parent opens the room as the first member, starts the others' processes and its own first member's, follows the
log like everybody else to show what happens, and writes the ledger and the roster when the room is over or is left.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, time_ns
from typing import Any

from swarm.errors import BadInput, WireError
from swarm.files import Document, load
from swarm.identity import Identity
from swarm.ledger.checkpoint import sign_checkpoint
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.memory import MemoryLog
from swarm.log.port import Log
from swarm.opening import kept_opening, publish_opening, sign_opening
from swarm.outbox import MemoryOutbox
from swarm.replica import Replica
from swarm.scenario import Scenario, agent_config, make_agent, read_scenario
from swarm.seat import Seat
from swarm.summary import cost_of, summary_of

Watcher = Callable[[Fold], None]
"""Called with the fold whenever the parent has folded more."""

PARTING_S = 10.0
"""How long members have to end by themselves once the room is over."""
EXIT_CODES = {"agreed": 0, "open": 0, "no_agreement": 1, "abandoned": 3}


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to; fields as in `plain`, and ``fold`` for whoever wants to look further."""

    room: str
    outcome: str
    reason: str | None
    summary: dict[str, Any]
    ledger: dict[str, Any]
    cost: dict[str, int]
    seconds: str
    fold: Fold | None = field(default=None, repr=False, compare=False)

    @property
    def decision(self) -> dict[str, Any] | None:
        """The agreed decision, or None."""
        decision: dict[str, Any] | None = self.summary["decision"]
        return decision

    @property
    def divergences(self) -> list[dict[str, Any]]:
        """The recorded divergences."""
        divergences: list[dict[str, Any]] = self.summary["divergences"]
        return divergences

    @property
    def commitments(self) -> dict[str, str]:
        """The state of each commitment."""
        commitments: dict[str, str] = self.summary["commitments"]
        return commitments

    @property
    def exit_code(self) -> int:
        """The exit code of the contract."""
        return EXIT_CODES[self.outcome]

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON."""
        head = {"room": self.room, "outcome": self.outcome, "reason": self.reason}
        return {**self.summary, **head, "ledger": self.ledger, "cost": self.cost, "seconds": self.seconds}


def utc_now() -> int:
    """Return this machine's clock in microseconds."""
    return time_ns() // 1000


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Document,
    *,
    memory: bool = False,
    ledger: str | os.PathLike[str] | None = None,
    roster: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    server: str | None = None,
    watch: Watcher | None = None,
) -> RunResult:
    """Run *scenario* to its end and return what it came to.

    With *memory* all members sit in this process over an in-memory log; else each is a process of its own, over an
    embedded nats-server or the one at *server*. *ledger* and *roster* are written if named. With *directory* the
    server's store, the keys and the outboxes are kept there, and the same call resumes a run that was cut off.

    Raises `BadInput` for a scenario that cannot be used; what happens afterwards is in the result.
    """
    parsed = read_scenario(load(scenario))
    for member in parsed.members:
        make_agent(agent_config(member))
    job = _Run(
        parsed,
        ledger=Path(ledger) if ledger is not None else None,
        roster=Path(roster) if roster is not None else None,
        directory=Path(directory) if directory is not None else None,
        server=server,
        watch=watch,
    )
    return asyncio.run(job.in_memory() if memory else job.in_processes())


class _Run:
    """One run of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        ledger: Path | None,
        roster: Path | None,
        directory: Path | None,
        server: str | None,
        watch: Watcher | None,
    ) -> None:
        self._scenario = scenario
        self._ledger = ledger
        self._roster = roster
        self._directory = directory
        self._server = server
        self._watch = watch
        self._started = monotonic()
        self._seeds: dict[str, bytes] = {}
        self._identities: dict[str, Identity] = {}
        for path in (ledger, roster):
            if path is not None and not path.resolve().parent.is_dir():
                raise BadInput("no such folder to write to", source=str(path))

    @property
    def _opener(self) -> Identity:
        return self._identities[self._scenario.names[0]]

    # -- in one process -------------------------------------------------------------------------------------------

    async def in_memory(self) -> RunResult:
        """Seat everyone in this process."""
        self._make_keys()
        async with MemoryLog() as log:
            replica = await self._open(log)
            return await self._seat_all(log, replica)

    async def _seat_all(self, log: Log, replica: Replica) -> RunResult:
        async with asyncio.TaskGroup() as group:
            following = group.create_task(replica.follow())
            watching = group.create_task(self._show(replica))
            seats = [
                group.create_task(
                    Seat(self._identities[m.name], make_agent(agent_config(m)), replica, MemoryOutbox(), utc_now).run()
                )
                for m in self._scenario.members
            ]
            await asyncio.wait(seats)
            following.cancel()
            watching.cancel()
        self._show_now(replica)
        return self._finish(replica.fold, None)

    # -- in processes ---------------------------------------------------------------------------------------------

    async def in_processes(self) -> RunResult:
        """Start a process a member, over an embedded or another server; whatever happens, all of them end."""
        from swarm.log.jetstream import JetStreamLog

        self._make_keys()
        async with AsyncExitStack() as stack:
            url, broker = await self._server_for(stack)
            login = None if self._server else self._opener
            log = await stack.enter_async_context(
                await JetStreamLog.connect(url, identity=login, name="swarm-run", timeout_s=10.0)
            )
            replica = await self._open(log)
            members = await stack.enter_async_context(self._processes(url, replica))
            return await self._until_over(replica, members, broker)

    async def _server_for(self, stack: AsyncExitStack) -> tuple[str, Any]:
        from swarm.broker import Broker
        from swarm.log.streams import ensure_streams

        if self._server is not None:
            await ensure_streams(self._server, timeout_s=10.0)
            return self._server, None
        directory = None if self._directory is None else self._directory / "broker"
        keys = [identity.public for identity in self._identities.values()]
        broker = await stack.enter_async_context(Broker(directory, members=keys))
        return broker.url, broker

    def _make_keys(self) -> None:
        for name in self._scenario.names:
            if self._directory is None:
                self._seeds[name] = os.urandom(32)
                self._identities[name] = Identity(self._seeds[name])
                continue
            path = self._key_path(name)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                Identity.new().save(path)
            self._identities[name] = Identity.load(path)

    def _key_path(self, name: str) -> Path:
        assert self._directory is not None
        return self._directory / "keys" / f"{self._scenario.names.index(name):02d}.key"

    async def _open(self, log: Log) -> Replica:
        kept = None if self._directory is None else self._directory / "opening"
        if kept is not None and kept.exists():
            entry = kept_opening(kept.read_bytes())
        else:
            keys = {name: identity.public for name, identity in self._identities.items()}
            entry = sign_opening(self._opener, self._scenario.opening(keys), utc_now())
            if kept is not None:
                kept.write_bytes(entry.payload)
        await publish_opening(log, entry)
        replica = Replica(log, entry.room, self._opener.public, utc_now)
        await replica.open()
        return replica

    @asynccontextmanager
    async def _processes(self, url: str, replica: Replica) -> AsyncIterator[dict[str, asyncio.subprocess.Process]]:
        processes: dict[str, asyncio.subprocess.Process] = {}
        try:
            for member in self._scenario.members:
                processes[member.name] = await self._start(member, url, replica.name)
            yield processes
        finally:
            await asyncio.shield(_end(list(processes.values())))

    async def _start(self, member: Any, url: str, room: str) -> asyncio.subprocess.Process:
        config: dict[str, Any] = {
            "name": member.name,
            "room": room,
            "opener": self._opener.public,
            "server": url,
            "login": self._server is None,
            "agent": agent_config(member),
        }
        if self._directory is None:
            config["seed"] = self._seeds[member.name].hex()
        else:
            config["key"] = str(self._key_path(member.name).resolve())
            config["outbox"] = str(self._key_path(member.name).resolve().with_suffix(".outbox"))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "swarm.member", stdin=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(config).encode() + b"\n")
        await process.stdin.drain()
        return process

    async def _until_over(
        self, replica: Replica, members: dict[str, asyncio.subprocess.Process], broker: Any
    ) -> RunResult:
        interrupted = None
        tasks = {
            "follow": asyncio.create_task(replica.follow()),
            "show": asyncio.create_task(self._show(replica)),
            "members": asyncio.create_task(_all_ended(members)),
        }
        if broker is not None:
            tasks["broker"] = asyncio.create_task(broker.wait())
        try:
            await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
            if tasks["show"].done():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(tasks["members"]), PARTING_S)
            elif "broker" in tasks and tasks["broker"].done():
                interrupted = "broker lost"
            elif tasks["members"].done():
                interrupted = "all members' processes ended"
            else:
                interrupted = str(tasks["follow"].exception())
        except asyncio.CancelledError:
            interrupted = "interrupted"
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        with contextlib.suppress(WireError):
            await replica.refresh(timeout_s=2.0)
        self._show_now(replica)
        return self._finish(replica.fold, interrupted)

    # -- both -----------------------------------------------------------------------------------------------------

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
        """Write what was said, and tell what it came to."""
        chain, room = fold.chain, fold.room
        if self._ledger is not None:
            checkpoint = sign_checkpoint(self._opener, room=chain.room, count=chain.position, head=chain.head)
            write_ledger(self._ledger, chain.room, fold.records, checkpoint)
        if self._roster is not None:
            _write_roster(self._roster, {name: key for key, name in fold.names.items()})
        summary = summary_of(room)
        outcome, reason = summary["outcome"], summary["reason"]
        if outcome == "unfinished" or (interrupted is not None and not room.over):
            left = "" if outcome == "unfinished" else f" after the room ended {outcome}"
            outcome, reason = "abandoned", f"{interrupted or 'unfinished'}{left}"
        return RunResult(
            room=chain.room,
            outcome=outcome,
            reason=reason,
            summary=summary,
            ledger={
                "path": str(self._ledger) if self._ledger is not None else None,
                "entries": chain.position,
                "head": chain.head,
            },
            cost=cost_of(fold),
            seconds=f"{monotonic() - self._started:.3f}",
            fold=fold,
        )


async def _all_ended(members: Mapping[str, asyncio.subprocess.Process]) -> None:
    await asyncio.gather(*(process.wait() for process in members.values()))


async def _end(processes: list[asyncio.subprocess.Process]) -> None:
    """End members' processes: their input closes, and whoever is still there after a moment is killed."""
    for process in processes:
        if process.stdin is not None:
            process.stdin.close()
    waiting = [asyncio.create_task(process.wait()) for process in processes]
    if not waiting:
        return
    await asyncio.wait(waiting, timeout=2.0)
    for process in processes:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    await asyncio.wait(waiting, timeout=2.0)


def _write_roster(path: Path, roster: Mapping[str, str]) -> None:
    lines = ["# Public keys of a room's members: what an audit pins.\n"]
    lines += [f"{json.dumps(name, ensure_ascii=False)}: {key}\n" for name, key in roster.items()]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"the roster cannot be written: {error.strerror}", source=str(path)) from None
