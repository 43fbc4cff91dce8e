"""The purse: what one member's mind may still use in a room, and what it has used that the log does not show yet.

The room's rules say what is left, according to the log (`protocols.messages.budget`). Asking a mind reserves calls from
that, so that of any number of simultaneous questions only as many are admitted as the budget covers. When a question
ends, in whatever way, the unused part of its reservation is released. Costs wait here for the next entry, which carries
them into the log.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from protocols.messages.budget import Left, Used

MOST_HELD_CALLS = 4
"""Calls that one question reserves: the first one, and some for an answer that is sent back."""


class UsedUp(Exception):
    """Nothing is left of the amount that the text names."""


class Purse:
    """One member's part of a room's budgets; *allowance* returns what is left of it according to the log."""

    def __init__(self, allowance: Callable[[], Left]) -> None:
        self._allowance = allowance
        self._held = 0
        self._unsaid: list[dict[str, Any]] = []
        self._sealed: list[dict[str, Any]] = []
        self._returned = asyncio.Event()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Left]:
        """Reserve what one question may use, and yield that amount; wait while others hold everything that is left.

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
        """Return what is left according to the log, minus what was used but not yet said."""
        return self._allowance().less(total([*self._unsaid, *self._sealed]))

    def used(self, cost: Mapping[str, Any] | None) -> None:
        """Record what a question cost."""
        if cost:
            self._unsaid.append(dict(cost))

    @property
    def unsaid(self) -> list[dict[str, Any]]:
        """The costs that no entry has carried yet."""
        return list(self._unsaid)

    def said(self, costs: list[dict[str, Any]]) -> None:
        """Forget *costs*, which were `unsaid`: an entry on the log carries them."""
        del self._unsaid[: len(costs)]

    def seal(self, costs: list[dict[str, Any]]) -> None:
        """Keep *costs*, which were `unsaid`, with a sealed answer; the entry that opens it will carry them."""
        self.said(costs)
        self._sealed += costs

    def unseal(self, costs: list[dict[str, Any]]) -> None:
        """Take *costs* back: the answer with which they were sealed was never said."""
        self.open()
        self._unsaid[:0] = costs

    def open(self) -> None:
        """Forget what was sealed: the log has the entry that carries it. Only one answer is sealed at a time."""
        self._sealed.clear()


def total(costs: list[dict[str, Any]]) -> Used:
    """Return the sum of *costs*."""
    used = Used()
    for cost in costs:
        used.add(cost)
    return used
