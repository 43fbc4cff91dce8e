"""Section 5: everything noteworthy, the worst first, with the meaning of each code."""

from dataclasses import dataclass
from typing import Final

from protocols.core.findings import CODES
from swarm.report.headline import SEVERITIES
from swarm.report.reading import Reading
from swarm.report.sentences import Sentence, say

MOST_OF_A_KIND: Final = 150
"""How many findings of one severity are listed."""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding."""

    code: str
    meaning: str
    who: str
    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Kind:
    """The findings of one severity; ``left_out`` counts those not listed, ``codes`` counts all by code."""

    severity: str
    total: int
    rows: tuple[Found, ...]
    left_out: int
    codes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """The section."""

    none: Sentence | None
    kinds: tuple[Kind, ...] = ()


def findings(reading: Reading) -> Findings:
    """Return the section of *reading*."""
    kinds = []
    for severity in SEVERITIES:
        found = [f for f in reading.audit.findings if CODES[f["code"]][0] is severity]
        counts: dict[str, int] = {}
        for each in found:
            counts[each["code"]] = counts.get(each["code"], 0) + 1
        rows = [
            # Anything beyond the records that hold has no entry here.
            Found(
                f["code"],
                CODES[f["code"]][1],
                f["who"],
                f["position"] if (f["position"] or 0) <= len(reading.said) else 0,
                f["text"],
            )
            for f in found[:MOST_OF_A_KIND]
        ]
        kinds.append(
            Kind(severity.value, len(found), tuple(rows), len(found) - len(rows), tuple(sorted(counts.items())))
        )
    none = say("There is nothing to note.") if not reading.audit.findings else None
    return Findings(none, tuple(kinds))
