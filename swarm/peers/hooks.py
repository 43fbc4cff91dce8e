"""Hooks: the owner's commands that are run when something in a room needs attention.

A hook is a command without a shell; it gets one JSON object on its standard input and nothing else. It may take a
while, fail or be missing: whatever it watches goes on, with a line in the log. One process reports each event once; a
restarted process reports again what still holds.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from swarm.scenario.hooks import On
from swarm.text import visible

_log = logging.getLogger(__name__)

HOOK_S = 60.0
"""How long a hook may run."""
MOST_AT_ONCE = 4


class Hooks:
    """Runs the commands of *on*. `close` waits for those still running, and ends them after their time."""

    def __init__(self, on: On) -> None:
        self.wanted = on != On()
        """Whether any command is to be run."""
        self._commands: dict[str, Sequence[str] | None] = {
            "waiting": on.waiting,
            "violated": on.violated,
            "ended": on.ended,
        }
        self._told: set[tuple[str, ...]] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)

    def tell_of(self, status: Mapping[str, Any]) -> None:
        """Report what is new in *status* (see `swarm.ledger.status.status_of`)."""
        for awaited in status["waiting"]:
            # By its position, because a second report of the same event counts separately, and so does a new offer.
            which = (awaited["member"], awaited["for"], str(awaited["position"]))
            self._tell("waiting", which, status, awaited)
        for name, promise in status["promises"].items():
            if promise["state"] in ("violated", "unconfirmed", "disputed"):
                self._tell("violated", (name, promise["state"]), status, {"commitment": name, **promise})
        if status["over"]:
            outcome = {"outcome": status["outcome"], "reason": status["reason"]}
            self._tell("ended", (), status, outcome)

    def forget(self, room: str) -> None:
        """Forget what was reported about *room*: nothing more will be."""
        self._told = {told for told in self._told if told[1] != room}

    def _tell(self, kind: str, which: tuple[str, ...], status: Mapping[str, Any], what: Mapping[str, Any]) -> None:
        command = self._commands[kind]
        key = (kind, status["room"], *which)
        if command is None or key in self._told:
            return
        self._told.add(key)
        line = json.dumps({"on": kind, "room": status["room"], **what}, sort_keys=True)
        task = asyncio.create_task(self._run(kind, command, line))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, kind: str, command: Sequence[str], line: str) -> None:
        async with self._turn:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
                )
            except OSError as error:
                _log.warning("hook %s: %s cannot be started: %s", kind, visible(command[0]), error.strerror)
                return
            try:
                async with asyncio.timeout(HOOK_S):
                    await process.communicate(line.encode() + b"\n")
            except TimeoutError:
                _log.warning("hook %s: ended after %.0f s", kind, HOOK_S)
            finally:
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
            if process.returncode:
                _log.warning("hook %s: %s ended with code %d", kind, visible(command[0]), process.returncode)

    async def close(self, wait_s: float = HOOK_S) -> None:
        """Wait *wait_s* seconds for the hooks that are running, then end them."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=wait_s)
        for task in set(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
