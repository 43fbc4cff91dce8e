"""Budgets of tokens, calls and seconds, for each member and for the room.

Entries declare as their cost what they used. A peer asks a mind only while something is left for its member, both of
the member's own budget and of its share of the room's. A share is fixed when a step opens: what the room has left is
divided among those expected; the remainder goes, one each, to the first in roster order. So members that ask at once
cannot together use more than there is, although none of them waits for another.

A call that ended without an entry because its process died is never charged; its reservation is released.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from protocols.core.canonical import LARGEST_INTEGER
from protocols.core.message import Message

Amount = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
NANOS = 10**9
KEPT_FOR_SIGNING = 4
"""Improvement ends when less than this fraction (a quarter) of any amount is left: the rest is for the signatures."""


class Amounts(Message):
    """The most that may be used: tokens (in and out together), calls, seconds of thinking.

    A missing amount has no limit.
    """

    tokens: Amount | None = None
    calls: Amount | None = None
    seconds: Amount | None = None


class Budget(Message):
    """What each member may use in this room, and what all of them may use together."""

    member: Amounts | None = None
    room: Amounts | None = None


@dataclass(slots=True)
class Used:
    """What was used so far; ``nanos`` are billionths of a second, because a cost has up to nine digits."""

    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    nanos: int = 0
    models: list[str] = field(default_factory=list)

    def add(self, cost: Mapping[str, Any]) -> None:
        """Add the cost that an entry declares."""
        self.tokens_in += cost.get("tokens_in", 0)
        self.tokens_out += cost.get("tokens_out", 0)
        self.calls += cost.get("calls", 0)
        self.nanos += int(Decimal(cost.get("seconds", "0")) * NANOS)
        model = cost.get("model")
        if model and model not in self.models:
            self.models.append(model)

    def cost(self) -> dict[str, Any]:
        """Return this as the cost of one entry; the model is the one used last."""
        counts = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "calls": self.calls}
        texts = {"seconds": decimal_seconds(self.nanos) if self.nanos else "", "model": (self.models or [""])[-1]}
        return {name: value for name, value in {**counts, **texts}.items() if value}

    def amount(self, name: str) -> int:
        """Return the amount of ``tokens``, ``calls`` or ``seconds`` (in nanoseconds)."""
        if name == "tokens":
            return self.tokens_in + self.tokens_out
        return self.calls if name == "calls" else self.nanos


class Left(Message):
    """What is left for one duty: seconds as decimal text, tokens and calls of the budgets. None means no limit."""

    seconds: str | None = None
    tokens: int | None = None
    calls: int | None = None

    def less(self, used: Used) -> "Left":
        """Return what is left of this after *used*."""
        tokens = None if self.tokens is None else max(0, self.tokens - used.amount("tokens"))
        calls = None if self.calls is None else max(0, self.calls - used.calls)
        seconds = None if self.seconds is None else decimal_seconds(int(Decimal(self.seconds) * NANOS) - used.nanos)
        return Left(seconds=seconds, tokens=tokens, calls=calls)


def limited(most: Amounts | None) -> list[str]:
    """Return the names of the amounts that *most* limits."""
    return [] if most is None else [name for name in ("tokens", "calls", "seconds") if getattr(most, name) is not None]


def most_of(amounts: Amounts | None, name: str) -> int:
    """Return the limit of *amounts* on ``tokens``, ``calls`` or ``seconds`` (in nanoseconds)."""
    most = int(getattr(amounts, name))
    return most * NANOS if name == "seconds" else most


def decimal_seconds(nanos: int) -> str:
    """Return billionths of a second as decimal seconds, at least 0."""
    return format(Decimal(max(0, nanos)).scaleb(-9).normalize(), "f")
