"""The members' processes as their parent sees them: started, told where to sit, and ended, whatever they are doing.

A member gets two lines: who it is, after which it makes its mind and says ``ready``, and where its room is. So a room
opens only when everybody can join it, however long a mind takes to load. Each process leads a session of its own, so
that Ctrl-C at the terminal reaches only the parent, and so that whatever a mind has started can be ended with it. A
member ends by itself when its input closes, and so also when the parent is killed.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

import anyio

from swarm.errors import SwarmError
from swarm.tasks import together, whatever_happens

EXIT_OK, EXIT_BAD_INPUT, EXIT_STOPPED, EXIT_CLOCK, EXIT_SECOND = 0, 2, 3, 4, 5
"""How a member's process ends; 1 is a bug of ours."""
_MEANING = {
    EXIT_OK: "ended",
    EXIT_BAD_INPUT: "bad input",
    EXIT_STOPPED: "stopped",
    EXIT_CLOCK: "clock",
    EXIT_SECOND: "second process",
}
READY_S = 60.0
"""How long a mind may take to load before its room opens."""
GRACE_S = 2.0
"""How long a process has to end once its input is closed, and again once it is killed."""


class Processes:
    """The processes of one run's members."""

    def __init__(self) -> None:
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    def __len__(self) -> int:
        return len(self._processes)

    async def start(self, name: str, member: Mapping[str, Any]) -> None:
        """Start the process of the member *name* and tell it who it is."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "swarm.running.member", stdin=pipe, stdout=pipe, start_new_session=True
        )
        self._processes[name] = process
        _write(process, member)

    async def ready(self) -> None:
        """Wait until all have made their minds; raise `SwarmError` if one of them ends instead, or takes too long."""
        for name, process in self._processes.items():
            assert process.stdout is not None
            try:
                async with asyncio.timeout(READY_S):
                    if await process.stdout.readline():
                        continue
                    code = await process.wait()
            except TimeoutError:
                raise SwarmError(f"the process of {name} was not ready after {READY_S:g} s") from None
            raise SwarmError(f"the process of {name} ended before the room was open: {_how(code)}")

    def sit(self, where: Mapping[str, Any]) -> None:
        """Tell all of them where their room is."""
        for process in self._processes.values():
            _write(process, where)

    async def ended(self) -> None:
        """Wait until all have ended."""
        async with together() as group:
            for process in self._processes.values():
                group.start_soon(process.wait)

    def why(self) -> str:
        """Say how the ended ones ended, in one sentence if it is the same for all."""
        said = {name: _how(p.returncode) for name, p in self._processes.items() if p.returncode is not None}
        if len(set(said.values())) == 1:
            return next(iter(said.values()))
        return ", ".join(f"{name}: {how}" for name, how in said.items())

    async def end(self) -> None:
        """End them: their input closes, and those still there after a moment are killed.

        Completes even if cancelled.
        """
        async with whatever_happens(3 * GRACE_S):
            await self._end()

    async def _end(self) -> None:
        processes = list(self._processes.values())
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()
        with anyio.move_on_after(GRACE_S):
            await self.ended()
        for process in processes:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        with anyio.move_on_after(GRACE_S):
            await self.ended()


def _write(process: asyncio.subprocess.Process, line: Mapping[str, Any]) -> None:
    # Not drained: a dead member shows by its end, and one that does not read holds up nobody.
    assert process.stdin is not None
    process.stdin.write(json.dumps(line).encode() + b"\n")


def _how(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return _MEANING.get(code, f"failed with code {code}")
