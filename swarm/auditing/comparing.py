"""Several ledgers of one room compared: whether they hold one log, and if not, where they part.

A ledger that goes on where another ends is not a contradiction: the other is behind. Two ledgers that differ at a place
that both have are a *fork*: somebody, the broker or an exporter, showed or made different logs. Each version is
reported with the members whose signatures stand under it from that place on, in entries, receipts or a closing
checkpoint. Only the part of each ledger that passed its own audit is compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from protocols.core.findings import Finding
from swarm.auditing.verdict import AuditResult, Trace
from swarm.ledger.differing import Place, at, first_apart, kind_of
from swarm.ledger.file import LedgerReader

KINDS = {
    "times": "the same record at another time",
    "order": "the same records in another order",
    "missing": "one lacks a record that the other has",
    "entries": "each has a record that the other has not",
}
"""How two versions of a log differ where they part."""


@dataclass(frozen=True, slots=True)
class Version:
    """One of the logs at a fork: the ledgers that hold it, and who signed it, each up to which count.

    ``exporters`` are the keys whose closing checkpoint stands under it.
    """

    ledgers: tuple[str, ...]
    record: str
    signed: dict[str, int]
    exporters: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return the version as JSON."""
        return {
            "ledgers": list(self.ledgers),
            "record": self.record,
            "signed": self.signed,
            "exporters": list(self.exporters),
        }


@dataclass(frozen=True, slots=True)
class Fork:
    """The first position at which ledgers that both reach it differ; ``kind`` is one of `KINDS`.

    ``both`` are the members whose signatures stand under more than one version.
    """

    position: int
    kind: str
    versions: tuple[Version, ...]
    both: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return the fork as JSON."""
        return {
            "position": self.position,
            "kind": self.kind,
            "versions": [version.plain() for version in self.versions],
            "both": list(self.both),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """What ledgers of one room show together. ``behind`` says by how many records each of them falls short."""

    room: str
    ledgers: dict[str, int]
    behind: dict[str, int]
    forks: list[Fork] = field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        """The forks, and the members that signed more than one side of one."""
        found = []
        for fork in self.forks:
            text = f"{' and '.join('/'.join(v.ledgers) for v in fork.versions)} differ: {KINDS[fork.kind]}"
            found.append(Finding("fork", fork.position, "", text))
            for name in fork.both:
                text = "signatures of this key stand under both"
                found.append(Finding("two_histories", fork.position, name, text))
        return found

    @property
    def says_not(self) -> list[str]:
        """What the comparison does not say."""
        if not self.forks:
            return ["that the broker showed this log to members whose ledgers are not given here"]
        return [
            "who made the difference, broker or exporter: only whose signatures stand under which version",
            "which version is the true one: none is, where members who did not sign both were shown different logs",
        ]

    def plain(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        return {
            "room": self.room,
            "agree": not self.forks,
            "ledgers": {path: {"entries": n, "behind": self.behind[path]} for path, n in self.ledgers.items()},
            "forks": [fork.plain() for fork in self.forks],
            "findings": [finding.plain() for finding in self.findings],
            "says_not": self.says_not,
        }


def compare(results: Iterable[AuditResult]) -> list[Comparison]:
    """Hold the ledgers of each room of which there are several against each other.

    Args:
        results: What `audit` found for each ledger; those of one room are compared.

    Returns:
        One comparison for each room with several ledgers: where they part, and whose signatures stand under which.

    Example:
        >>> from swarm import audit, compare
        >>> ledgers = ["tests/ledgers/apart/ann.jsonl", "tests/ledgers/apart/cyd.jsonl"]
        >>> [len(room.forks) for room in compare(audit(ledger) for ledger in ledgers)]
        [1]
    """
    rooms: dict[str, dict[str, AuditResult]] = {}
    for result in results:
        if result.trace is not None:
            rooms.setdefault(result.trace.room, {})[result.path] = result
    return [_compare(room, ledgers) for room, ledgers in rooms.items() if len(ledgers) > 1]


def _compare(room: str, results: Mapping[str, AuditResult]) -> Comparison:
    lengths = {path: len(_trace(result).heads) - 1 for path, result in results.items()}
    heads = {path: _trace(result).heads for path, result in results.items()}
    behind = {
        path: max(lengths[other] - length for other in heads if first_apart(heads[path], heads[other]) is None)
        for path, length in lengths.items()
    }
    return Comparison(
        room, lengths, {path: max(0, most) for path, most in behind.items()}, list(_forks(list(results.values())))
    )


def _trace(result: AuditResult) -> Trace:
    assert result.trace is not None
    return result.trace


def _forks(results: Sequence[AuditResult]) -> Iterable[Fork]:
    """Yield where *results*, of one room, part; then where those on one side part further on."""
    apart = [
        position
        for place, one in enumerate(results)
        for other in results[place + 1 :]
        if (position := first_apart(_trace(one).heads, _trace(other).heads)) is not None
    ]
    if not apart:
        return
    position = min(apart)
    sides: dict[str, list[AuditResult]] = {}
    for result in results:
        if len(_trace(result).heads) > position:
            sides.setdefault(_trace(result).heads[position], []).append(result)
    yield _fork(position, list(sides.values()))
    for side in sides.values():
        yield from _forks(side)


def _fork(position: int, sides: Sequence[Sequence[AuditResult]]) -> Fork:
    rest = [_places(side[0], position) for side in sides]
    signed = [_signed(position, side, [r for other in sides if other is not side for r in other]) for side in sides]
    versions = tuple(
        Version(
            tuple(result.path for result in side),
            _told(side[0], places[0]),
            by,
            tuple(sorted({e for result in side if (e := _trace(result).exporter) is not None})),
        )
        for side, places, by in zip(sides, rest, signed, strict=True)
    )
    names = [name for by in signed for name in by]
    both = tuple(sorted({name for name in names if names.count(name) > 1}))
    return Fork(position, kind_of(rest[0], rest[1]), versions, both)


def _places(result: AuditResult, position: int) -> list[Place]:
    """Return what *result*'s ledger holds from *position* on, as far as its audit has read it."""
    records = islice(LedgerReader(Path(result.path)), position - 1, len(_trace(result).heads) - 1)
    return [Place(r.stored, r.author, sha256(r.payload).hexdigest()) for r in records]


def _told(result: AuditResult, place: Place) -> str:
    name = next((name for name, key in result.members.items() if key == place.author), place.author)
    return f"{name}, {place.id[:12]}, stored {at(place)}"


def _signed(position: int, side: Sequence[AuditResult], others: Sequence[AuditResult]) -> dict[str, int]:
    """Return who signed a head of *side* at *position* or later, in its own ledgers or in an entry that others hold."""
    found: dict[str, int] = {}

    def note(name: str, count: int) -> None:
        if count >= position:
            found[name] = max(found.get(name, 0), count)

    for result in side:
        trace = _trace(result)
        for name, count in trace.signed.items():
            note(name, count)
        for other in others:
            for count, head, name in _trace(other).denied:
                if count < len(trace.heads) and trace.heads[count] == head:
                    note(name, count)
        exporter = next((name for name, key in result.members.items() if key == trace.exporter), None)
        if exporter is not None:
            note(exporter, len(trace.heads) - 1)
    return dict(sorted(found.items()))
