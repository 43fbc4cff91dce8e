"""The purse: what one member's mind may still use in a room, and what it has used that the log does not know yet.

The room's rules say what is left (`protocols.messages.budget`), as of the log. Asking a mind holds calls of that, so
that of any number of questions at once only as many are admitted as something is left for; what a question did not
use is there again when it ends, however it ends. What it used waits here for the next entry, which carries it into
the log.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from protocols.messages.budget import Left, Used

MOST_HELD_CALLS = 4
"""Calls that one question holds: the first, and some for an answer that is sent back."""


class UsedUp(Exception):
    """Nothing is left of the amount that the text names."""


class Purse:
    """One member's part of a room's budgets; *allowance* says what is left of it as of the log."""

    def __init__(self, allowance: Callable[[], Left]) -> None:
        self._allowance = allowance
        self._held = 0
        self._unsaid: list[dict[str, Any]] = []
        self._sealed: list[dict[str, Any]] = []
        self._returned = asyncio.Event()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Left]:
        """Hold what one question may use, and give what that is; wait while others hold all that is left.

        Raises `UsedUp` if nothing is left.
        """
        while (left := self._left()).calls is not None and 0 < left.calls <= self._held:
            self._returned.clear()
            await self._returned.wait()
        for name in ("calls", "tokens", "seconds"):
            if getattr(left, name) in (0, "0"):
                raise UsedUp(name)
        calls = None if left.calls is None else min(MOST_HELD_CALLS, left.calls - self._held)
        self._held += calls or 0
        try:
            yield left.model_copy(update={"calls": calls})
        finally:
            self._held -= calls or 0
            self._returned.set()

    def _left(self) -> Left:
        """Return what the log says is left, less what was used and not said yet."""
        return self._allowance().less(total([*self._unsaid, *self._sealed]))

    def used(self, cost: Mapping[str, Any] | None) -> None:
        """Take note of what a question took."""
        if cost:
            self._unsaid.append(dict(cost))

    @property
    def unsaid(self) -> list[dict[str, Any]]:
        """The costs that no entry has carried so far."""
        return list(self._unsaid)

    def said(self, costs: list[dict[str, Any]]) -> None:
        """Let go of *costs*, which were `unsaid`: the log has an entry that carries them."""
        del self._unsaid[: len(costs)]

    def seal(self, costs: list[dict[str, Any]]) -> None:
        """Let *costs*, which were `unsaid`, wait in a sealed answer for what opens it."""
        self.said(costs)
        self._sealed += costs

    def unseal(self, costs: list[dict[str, Any]]) -> None:
        """Take *costs* back: the answer that they were sealed with was never said."""
        self.open()
        self._unsaid[:0] = costs

    def open(self) -> None:
        """Let go of what was sealed: the log has the entry that carries it. One answer is sealed at a time."""
        self._sealed.clear()


def total(costs: list[dict[str, Any]]) -> Used:
    """Return *costs* added up."""
    used = Used()
    for cost in costs:
        used.add(cost)
    return used
