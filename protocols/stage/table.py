"""Tables of steps: for each step of a stage, the possible results of its close, and the step to which each leads.

A table is data, and the only place that defines the order of steps. A *turn* is the one word for the result of a close.
A machine works it out, `Stage.close` looks up where it leads, and the pictures in ``docs/protocol/rooms.md`` are drawn
from the tables (`picture`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from protocols.core.findings import Finding

Table = Mapping[str, Mapping[str, str]]
"""Step → turn → the next step, `DONE`, or how the agenda ends. ``N`` stands for a step's number."""

START: Final = "start"
"""The row of a stage that has not begun."""
CLOSED: Final = "all have answered, or the deadline has passed"
"""The turn of a step with only one way on."""

DONE: Final = "done"
"""The end of a stage, after which the agenda goes on."""
AGREED: Final = "agreed"
NO_AGREEMENT: Final = "no_agreement"
ABANDONED: Final = "abandoned"
OPEN: Final = "open"
ENDINGS: Final = (AGREED, NO_AGREEMENT, ABANDONED, OPEN)
"""How a room's agenda may end."""

_NUMBER: Final = re.compile(r"(?<=\.)[0-9]+(?=\.|$)")


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of closing a step: the word in the table, the findings, and the reason if it ends the agenda."""

    name: str = CLOSED
    findings: list[Finding] = field(default_factory=list)
    reason: str | None = None


def seal_of(prefix: str) -> str:
    """Return the id of the sealing step of the round *prefix*; every digest names it."""
    return f"{prefix}.seal"


def reveal_of(prefix: str) -> str:
    """Return the id of the revealing step of the round *prefix*."""
    return f"{prefix}.reveal"


def sealed_round(step: str) -> str | None:
    """Return the prefix of the sealed round to which the step with the id *step* belongs, or None."""
    prefix = step.rpartition(".")[0]
    return prefix if step in (seal_of(prefix), reveal_of(prefix)) else None


def name_of(step: str) -> str:
    """Return the name of *step* in the tables: its id, with ``N`` for its number."""
    return _NUMBER.sub("N", step)


def numbered(name: str, number: int) -> str:
    """Return the id of the step, or the prefix of the round, that is called *name* in the tables."""
    return name.replace(".N", f".{number}")


def number_of(step: str) -> int | None:
    """Return the number in the id *step*, or None."""
    found = _NUMBER.search(step)
    return None if found is None else int(found[0])


def picture(table: Table) -> str:
    """Return *table* as a Mermaid flowchart: a box for each step, an arrow for each turn, rounded ends."""
    targets = [target for row in table.values() for target in row.values()]
    places = {name: f"s{number}" for number, name in enumerate(dict.fromkeys([*table, *targets]))}
    lines = ["flowchart TD", *(f"    {place}{_shape(name, table)}" for name, place in places.items())]
    for name, row in table.items():
        lines += [f"    {places[name]} -->{label} {places[target]}" for label, target in _arrows(row)]
    return "\n".join(lines)


def _shape(name: str, table: Table) -> str:
    if name == START:
        return "(( ))"
    return f'["{name}"]' if name in table else f'(["{name.replace("_", " ")}"])'


def _arrows(row: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each way out of a step once, with all turns that take it; a single way needs no words."""
    for target in dict.fromkeys(row.values()):
        turns = [turn for turn, to in row.items() if to == target and turn != CLOSED]
        yield (f'|"{"; ".join(turns)}"|' if turns else ""), target
