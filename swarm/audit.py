"""The audit: replay a ledger offline and say what it shows, what it contradicts, and what it does not show.

``failed``
    The ledger contradicts itself, its signatures, its checkpoint or the pinned roster.
``incomplete``
    Nothing contradicts, but the identities are not pinned, or not every member is shown to have signed the end.
``verified``
    Everything holds, every key is pinned, and every member signed the result and is covered by another's signature.

A key inside the file is never a trust anchor. No broker and no network is needed, nor is their code loaded.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocols.findings import Finding
from protocols.instants import Instant, parse_instant
from swarm.entry import parse_entry
from swarm.errors import BadEntry, BadInput
from swarm.identity import is_public_key
from swarm.ledger.chain import Record
from swarm.ledger.checkpoint import Checkpoint
from swarm.ledger.file import BadLine, FileRecord, LedgerReader, read_checkpoint
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.summary import summary_of

PathLike = str | os.PathLike[str]
OPEN_ENDS = ("unconfirmed", "disputed")


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What one ledger shows. ``findings`` are the audit's own first, then those of the replay."""

    path: str
    verdict: str
    entries: int
    members: dict[str, str]
    pinned: bool
    complete: bool
    covered_to: int
    findings: list[dict[str, Any]]
    summary: dict[str, Any] = field(default_factory=dict)
    unmet: list[str] = field(default_factory=list)
    """Commitments that ``--strict`` objects to: violated without remedy, unconfirmed or disputed."""

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "verdict": self.verdict,
            "entries": self.entries,
            "members": self.members,
            "pinned": self.pinned,
            "complete": self.complete,
            "covered_to": self.covered_to,
            "says_not": NOT_SAID[self.verdict],
            **self.summary,
            "findings": self.findings,
        }

    def exit_code(self, *, strict: bool = False) -> int:
        """Return the exit code of the contract."""
        code = {"verified": 0, "failed": 1, "incomplete": 3}[self.verdict]
        return 4 if strict and code == 0 and self.unmet else code


NOT_SAID = {
    "verified": "It does not say that what members said is true, nor that a key's holder is who the roster names.",
    "incomplete": "It does not say whose keys these are unless a roster pins them, nor that nothing was said after.",
    "failed": "It does not say who changed the ledger, only where it contradicts what was signed.",
}


def read_roster(path: PathLike) -> dict[str, str]:
    """Return the pinned roster (member name → public key) in a YAML or JSON file."""
    from swarm.files import read_document

    document = read_document(path)
    roster = document.data
    if not isinstance(roster, dict) or not roster:
        raise document.error((), "a roster maps each member's name to its public key")
    for name, key in roster.items():
        if not isinstance(key, str) or not is_public_key(key):
            raise document.error((name,), "not a public key: 56 characters that begin with U")
    return {str(name): key for name, key in roster.items()}


def audit(
    ledger: PathLike,
    *,
    roster: PathLike | Mapping[str, str] | None = None,
    receipts: Sequence[PathLike] = (),
    as_of: str | None = None,
) -> AuditResult:
    """Verify and replay one ledger file.

    *roster* pins the members' keys, *receipts* are members' checkpoints of the same room, *as_of* (RFC 3339) cuts the
    history: what lies after it has not happened. Raises `BadInput` for files that cannot be read or hold no record.
    """
    pins = roster if roster is None or isinstance(roster, Mapping) else read_roster(roster)
    try:
        until = None if as_of is None else parse_instant(as_of)
    except ValueError as error:
        raise BadInput(f"--as-of: {error}") from None
    run = _Audit(Path(ledger), until)
    run.replay()
    run.check_receipts([read_checkpoint(Path(receipt)) for receipt in receipts])
    return run.conclude(pins)


class _Audit:
    """One pass over one ledger."""

    def __init__(self, path: Path, until: Instant | None) -> None:
        self._path = path
        self._until = until
        self._reader = LedgerReader(path)
        self._fold: Fold | None = None
        self._cut: Fold | None = None
        self._read = 0
        self._faults: list[Finding] = []
        self._notes: list[Finding] = []
        self._covered: dict[str, int] = {}
        """For each member, the highest count whose head it signed and this ledger has."""
        self._mismatched: list[tuple[int, int, str]] = []
        """Entries that sign another head: position, count, member."""
        self._checkpoints: list[Checkpoint] = []

    def replay(self) -> None:
        """Read, verify and fold every record; stop at the first line that is altered."""
        try:
            for claimed in self._reader:
                self._add(claimed)
                self._read += 1
        except BadLine as problem:
            self._fault("altered", problem.line - 1, str(problem))
        except BadEntry as problem:
            self._fault("altered", self._read + 1, f"record {self._read + 1}: {problem.code}: {problem}")
        if self._reader.torn:
            self._notes.append(Finding("torn_tail", self._read + 1, "", "the file's last line was cut off"))
        if self._read == 0 and not self._faults:
            raise BadInput("the ledger holds no record: there is nothing to check", source=str(self._path))
        if self._reader.checkpoint is not None:
            self._checkpoints.append(self._reader.checkpoint)

    def _fault(self, code: str, position: int, text: str, who: str = "") -> None:
        self._faults.append(Finding(code, position, who, text))

    def _add(self, claimed: FileRecord) -> None:
        position = self._read + 1
        if claimed.position != position:
            raise BadEntry("altered", f"it says it is at position {claimed.position}")
        author = claimed.author
        if claimed.entry:
            author = parse_entry(claimed.payload).author
        stored = Stored(position, claimed.stored, author, claimed.payload)
        if self._fold is None:
            self._fold = Fold.open(stored, self._reader.room, keep=False)
            return
        if author not in self._fold.names:
            raise BadEntry("altered", f"{author} is not a member of this room")
        if self._until is not None and self._cut is None:
            self._cut_before(stored)
        if self._fold.add(stored) is None:
            raise BadEntry("altered", "it is another author's entry")
        record = self._fold.last
        if claimed.entry != (record.entry is not None):
            raise BadEntry("altered", self._fold.room.findings[-1].text or "not in the form its bytes have")
        self._note_seen(record)

    def _cut_before(self, stored: Stored) -> None:
        """Keep a copy of the state before the first record that *as_of* has not seen."""
        import copy

        assert self._fold is not None and self._until is not None
        at = max(self._fold.chain.at, stored.stored)
        if self._fold.room.calendar.promised(at) > self._until:
            self._cut = copy.deepcopy(self._fold)

    def _note_seen(self, record: Record) -> None:
        entry, fold = record.entry, self._fold
        if entry is None or fold is None:
            return
        name = fold.names[record.author]
        heads = fold.chain.heads
        if entry.seen_count < record.position and heads[entry.seen_count] == entry.seen_head:
            self._covered[name] = max(self._covered.get(name, 0), entry.seen_count)
        else:
            self._mismatched.append((record.position, entry.seen_count, name))

    # -- beyond single records ------------------------------------------------------------------------------------

    def check_receipts(self, receipts: Sequence[Checkpoint]) -> None:
        """Hold the closing checkpoint and members' receipts against the replayed log."""
        for checkpoint in [*self._checkpoints, *receipts]:
            self._check(checkpoint)

    def _check(self, checkpoint: Checkpoint) -> None:
        fold = self._fold
        if fold is None or self._faults:
            return
        heads = fold.chain.heads
        closing = checkpoint is self._reader.checkpoint
        problem = None
        if checkpoint.room != self._reader.room:
            problem = f"a checkpoint of the room {checkpoint.room}"
        elif not checkpoint.is_signed():
            problem = f"a checkpoint whose signature is not that of {checkpoint.by}"
        elif closing and checkpoint.count != self._read:
            problem = f"the closing checkpoint is over {checkpoint.count} records, the file has {self._read}"
        elif checkpoint.count >= len(heads):
            problem = f"{self._name(checkpoint.by)} has signed {checkpoint.count} records, the file has {self._read}"
        elif heads[checkpoint.count] != checkpoint.head:
            first = min(self._confirmed(), checkpoint.count) + 1
            problem = f"records {first} to {checkpoint.count} are not what {self._name(checkpoint.by)} signed"
            self._fault("checkpoint_mismatch", first, problem)
            return
        if problem is not None:
            self._fault("checkpoint_mismatch", min(checkpoint.count, self._read), problem)
        elif not closing and checkpoint.by in fold.names:
            name = fold.names[checkpoint.by]
            self._covered[name] = max(self._covered.get(name, 0), checkpoint.count)

    def _name(self, key: str) -> str:
        return self._fold.names.get(key, key) if self._fold is not None else key

    def _confirmed(self) -> int:
        return max(self._covered.values(), default=0)

    def _check_heads(self) -> None:
        """Judge entries that sign another head: a later one of another member that signs this log's clears the log."""
        for position, count, name in self._mismatched:
            others = [seen for member, seen in self._covered.items() if member != name and seen >= count]
            if not others:
                first = min(self._confirmed(), count) + 1
                text = f"records {first} to {count} are not in the order or at the times that {name} signed"
                self._fault("altered", first, f"{text} (at {position})", name)

    def conclude(self, pins: Mapping[str, str] | None) -> AuditResult:
        """Return the verdict."""
        fold = self._fold
        members = {} if fold is None else {name: key for key, name in fold.names.items()}
        if not self._faults:
            self._check_heads()
        if pins is not None and fold is not None:
            self._check_pins(pins, members)
        exporter = self._reader.checkpoint.by if self._reader.checkpoint is not None else ""
        covered_to = max((c for name, c in self._covered.items() if members.get(name) != exporter), default=0)
        complete = fold is not None and not self._faults and self._complete(fold, covered_to)
        if not self._faults:
            self._note_limits(pins, complete, covered_to)
        verdict = "failed" if self._faults else "verified" if complete and pins is not None else "incomplete"
        if self._reader.torn and verdict == "verified":
            verdict = "incomplete"
        shown = self._cut or fold
        summary: dict[str, Any] = {}
        if shown is not None:
            if self._until is not None:
                _advance(shown, self._until)
            summary = summary_of(shown.room)
        own = [finding.plain() for finding in [*self._faults, *self._notes]]
        return AuditResult(
            path=str(self._path),
            verdict=verdict,
            entries=self._read,
            members=members,
            pinned=pins is not None,
            complete=complete,
            covered_to=covered_to,
            findings=own + summary.pop("findings", []),
            summary=summary,
            unmet=_unmet(shown),
        )

    def _check_pins(self, pins: Mapping[str, str], members: Mapping[str, str]) -> None:
        for name, key in members.items():
            if name not in pins:
                self._fault("key_mismatch", 1, f"{name} is not in the roster given", name)
            elif pins[name] != key:
                self._fault("key_mismatch", 1, f"{name} speaks with {key}, the roster pins {pins[name]}", name)
        for name in pins.keys() - members.keys():
            self._fault("key_mismatch", 1, f"the roster given has {name}, this room has not", name)

    def _complete(self, fold: Fold, covered_to: int) -> bool:
        closing = fold.room.closing
        if closing is None or self._reader.checkpoint is None or self._reader.torn:
            return False
        return closing.matches(fold.room.setting.members) and closing.signed_up_to <= covered_to

    def _note_limits(self, pins: Mapping[str, str] | None, complete: bool, covered_to: int) -> None:
        if pins is None:
            self._notes.append(Finding("not_pinned", 0, "", "no roster was given; whose keys these are is not shown"))
        if not complete:
            text = "not every member is shown to have signed the end"
            self._notes.append(Finding("not_complete", 0, "", text))
        if covered_to < self._read:
            text = f"records {covered_to + 1} to {self._read} rest on their authors and the exporter alone"
            self._notes.append(Finding("uncovered", covered_to + 1, "", text))


def _advance(fold: Fold, until: Instant) -> None:
    tracker = fold.room.tracker
    if tracker is not None and until > fold.room.calendar.promised(fold.room.at):
        tracker.advance(until)


def _unmet(fold: Fold | None) -> list[str]:
    if fold is None or fold.room.tracker is None:
        return []
    return [
        name
        for name, status in fold.room.tracker.statuses().items()
        if status.state in OPEN_ENDS
        or (status.state == "violated" and status.remedy in ("none", "violated") and "waived" not in status.notes)
    ]
