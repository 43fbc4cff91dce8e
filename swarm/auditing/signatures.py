"""Whose signatures stand under a log, and who has validly signed another one.

A head stands for every record up to it, so a member that signs this log's head at a count has signed all of it up to
there. An entry or a receipt that is validly signed and contradicts this log (another head, another ``n`` or ``prev``)
is set aside only if its own author has signed this log at that place or later: then it is its author that contradicts
itself. Otherwise the log is *contested* from the first record on that its author has not signed. Nobody else's word
counts, however many they are: in a file, many that collude against one look like one that lies against many.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Denial:
    """A signed text of *name* that contradicts this log.

    ``position`` is where it stands, 0 for a receipt. ``place`` is the count from which on a signature of its author
    under this log takes it back. ``seen`` and ``head`` are what it signs. ``own``: its head is this log's, and what it
    contradicts is its author's own chain, by ``n`` or ``prev``.
    """

    position: int
    place: int
    seen: int
    head: str
    name: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Contest:
    """*name* signed another log from record ``position`` on, and not this one there. ``text`` says so for people."""

    name: str
    position: int
    text: str

    def plain(self) -> dict[str, Any]:
        """Return the contest as JSON."""
        return {"member": self.name, "position": self.position, "text": self.text}


@dataclass(slots=True)
class Signatures:
    """What members signed of one log: for each the highest count whose head it signed, and what contradicts it."""

    signed: dict[str, int] = field(default_factory=dict)
    denials: list[Denial] = field(default_factory=list)

    def sign(self, name: str, count: int) -> None:
        """Take note that *name* has signed this log's head at *count*."""
        self.signed[name] = max(self.signed.get(name, 0), count)

    def deny(self, denial: Denial) -> None:
        """Take note of a text that contradicts this log."""
        self.denials.append(denial)

    def signed_by(self, name: str) -> int:
        """Return how many records of this log *name* has signed."""
        return self.signed.get(name, 0)

    def standing(self) -> list[Denial]:
        """Return the denials that their authors have not taken back, by where the difference lies."""
        open_ones = (denial for denial in self.denials if self.signed_by(denial.name) < denial.place)
        return sorted(open_ones, key=lambda denial: (denial.place, denial.position))

    def taken_back(self) -> list[Denial]:
        """Return the denials whose authors have signed this log there or later."""
        return [denial for denial in self.denials if self.signed_by(denial.name) >= denial.place]

    def covered_to(self) -> int:
        """Return the highest count that two members have signed.

        The exporter's closing checkpoint is one of the signatures if it is a member; if it is none, or there is none,
        any one member may stand behind it. So whoever made the file, another member has signed that much of it.
        """
        return sorted((0, 0, *self.signed.values()))[-2]

    def beyond(self, count: int) -> list[str]:
        """Return the members that have signed more than *count* records."""
        return [name for name, signed in self.signed.items() if signed > count]

    def contests(self) -> list[Contest]:
        """Return who contests this log and from which record on, the earliest first."""
        found: dict[str, list[Denial]] = {}
        for denial in self.standing():
            found.setdefault(denial.name, []).append(denial)
        first = {name: self.signed_by(name) + 1 for name in found}
        return [
            Contest(name, first[name], self._told(name, first[name], found))
            for name in sorted(found, key=first.__getitem__)
        ]

    def _told(self, name: str, first: int, found: Mapping[str, Collection[Denial]]) -> str:
        where = [denial.position for denial in found[name] if denial.position]
        at = f" (at {', '.join(map(str, where[:3]))}{', …' if len(where) > 3 else ''})" if where else " (its receipt)"
        stand = [other for other in self.beyond(first - 1) if other not in found]
        others = f"{' and '.join(stand)} signed this one" if stand else "no member signed this one"
        return (
            f"from record {first} on {name} signed another log{at} and never this one, {others}: "
            f"{name}'s own ledger or receipt would settle it"
        )
