"""The members' processes as their parent sees them: started, waited for, and ended, whatever they are doing.

Each leads a session of its own, so that Ctrl-C at the terminal reaches the parent alone, and so that what a mind has
started can be ended with it. A member ends by itself when its input closes, hence also when the parent is killed.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

EXIT_OK, EXIT_BAD_INPUT, EXIT_STOPPED, EXIT_CLOCK, EXIT_SECOND = 0, 2, 3, 4, 5
"""How a member's process ends; 1 is a bug of ours."""
_MEANING = {
    EXIT_OK: "ended",
    EXIT_BAD_INPUT: "bad input",
    EXIT_STOPPED: "stopped",
    EXIT_CLOCK: "clock",
    EXIT_SECOND: "second process",
}
GRACE_S = 2.0
"""How long a process has to end once its input is closed, and again once it is killed."""


class Processes:
    """The processes of one run's members."""

    def __init__(self) -> None:
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    async def start(self, name: str, config: Mapping[str, Any]) -> None:
        """Start the process of the member *name*; it reads *config* when it is ready to."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "swarm.member", stdin=asyncio.subprocess.PIPE, start_new_session=True
        )
        self._processes[name] = process
        assert process.stdin is not None
        # Not drained: a member that is dead already shows by its end, one that does not read keeps nobody waiting.
        process.stdin.write(json.dumps(config).encode() + b"\n")

    async def ended(self) -> None:
        """Wait until all have ended."""
        await asyncio.gather(*(process.wait() for process in self._processes.values()))

    def why(self) -> str:
        """Say how those that have ended did, once if it is the same for all."""
        said = {name: _how(p.returncode) for name, p in self._processes.items() if p.returncode is not None}
        if len(set(said.values())) == 1:
            return next(iter(said.values()))
        return ", ".join(f"{name}: {how}" for name, how in said.items())

    async def end(self) -> None:
        """End them: their input closes, who is still there after a moment is killed. Goes on if cancelled."""
        ending = asyncio.ensure_future(self._end())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await asyncio.wait({ending}, timeout=3 * GRACE_S)
            raise

    async def _end(self) -> None:
        processes = list(self._processes.values())
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()
        waiting = [asyncio.create_task(process.wait()) for process in processes]
        if not waiting:
            return
        await asyncio.wait(waiting, timeout=GRACE_S)
        for process in processes:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait(waiting, timeout=GRACE_S)
        for task in waiting:
            task.cancel()


def _how(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return _MEANING.get(code, f"failed with code {code}")
