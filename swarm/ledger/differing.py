"""Two versions of one log, and where they part: what a signed head, or another ledger, says of the records before it.

A head is a digest, so it does not say what it was made of. But some changes can be tried: if the records in another
order, or all records but one, give the signed head, then that is what happened to them.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from protocols.core.instants import Instant, show_instant
from swarm.errors import BadEntry
from swarm.ledger.chain import next_head

MOST_TRIED = 24
"""Among how many records a move is looked for; for this many, it takes some ten thousand digests."""
MOST_PERMUTED = 6


class Place(NamedTuple):
    """What a head says of one record: its store time, the author of its subject, and its id."""

    stored: Instant
    author: str
    id: str


def head_over(head: str, first: int, places: Sequence[Place]) -> str:
    """Return the head after *places*, which follow *head* from position *first* on."""
    for position, place in enumerate(places, first):
        head = next_head(head, position, place.stored, place.author, place.id)
    return head


def how_changed(before: str, first: int, places: Sequence[Place], signed: str, count: int, who: str) -> BadEntry | None:
    """Return what turned the records that *who* signed into *places*: ``reordered``, ``added``, or None.

    *before* is the head before position *first*, and *signed* is the head that was signed at *count*. *places* are the
    records between the two, and one more if there is one.
    """
    size = count - first + 1
    if not 0 < size <= MOST_TRIED or len(places) < size:
        return None
    inside = places[:size]
    for order in _orders(size):
        moved = [inside[i] for i in order]
        # The records may have taken their times along, or the times may have stayed in order.
        stayed = [Place(inside[i].stored, place.author, place.id) for i, place in enumerate(moved)]
        if signed in (head_over(before, first, moved), head_over(before, first, stayed)):
            return BadEntry("reordered", f"not in the order that {who} signed")
    for left in range(len(places)):
        kept = [*places[:left], *places[left + 1 :]][:size]
        if len(kept) == size and head_over(before, first, kept) == signed:
            return BadEntry("added", f"more than {who} signed: one was put in later")
    return None


def _orders(size: int) -> Iterator[tuple[int, ...]]:
    """Yield other orders of *size* things: all orders of a few; of more, those with one moved or two swapped."""
    if size <= MOST_PERMUTED:
        yield from (order for order in permutations(range(size)) if order != tuple(range(size)))
        return
    for taken in range(size):
        rest = [i for i in range(size) if i != taken]
        for to in range(size):
            if to != taken:
                yield (*rest[:to], taken, *rest[to:])
    for one in range(size):
        for other in range(one + 2, size):
            order = list(range(size))
            order[one], order[other] = other, one
            yield tuple(order)


def first_apart(one: Sequence[str], other: Sequence[str]) -> int | None:
    """Return the first position at which two running heads differ; None if one continues the other.

    Each sequence has the head before any record at index 0. Equal heads mean equal records before them.
    """
    low, high = 0, min(len(one), len(other)) - 1
    if one[high] == other[high]:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if one[middle] == other[middle]:
            low = middle
        else:
            high = middle
    return high


def kind_of(one: Sequence[Place], other: Sequence[Place]) -> str:
    """Say how two logs differ at the first place where they do; each is given from that place on.

    ``times``: the same record at another time; ``order``: the same records in another order; ``missing``: one lacks
    what the other has there, and goes on with the rest; ``entries``: each has an entry there that the other lacks.
    """
    if one[0].id == other[0].id and one[0].author == other[0].author:
        return "times"
    there = one[0].id in {place.id for place in other}
    here = other[0].id in {place.id for place in one}
    return "order" if there and here else "missing" if there or here else "entries"


def at(place: Place) -> str:
    """Return when *place* was stored, for people."""
    return show_instant(place.stored)
