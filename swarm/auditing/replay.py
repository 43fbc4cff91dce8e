"""The first pass over a ledger: read it, verify it, fold it, and take note of whose signatures stand under what."""

from collections.abc import Mapping
from pathlib import Path

from protocols.core.findings import Finding
from protocols.core.instants import Instant
from swarm.auditing.signatures import Denial, Signatures
from swarm.errors import BadEntry, BadInput
from swarm.ledger.chain import Record
from swarm.ledger.equivocation import find_proofs
from swarm.ledger.file import BadLine, FileRecord, LedgerReader, entries_in
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.signed.entry import Entry, brief

OF_REPORTS = ("event.report", "event.confirm", "event.decide")
"""What is said about events, by its kind: what a promise's state is carried by."""


class Replay:
    """One ledger read once. ``read`` is how many records hold; ``faults`` say why it was not read further.

    ``until`` is an instant of the promises' time, ``after`` the first record that lies after it. ``first`` gives
    each member the position of its first record, ``late_from`` the first record at which the log's time has passed
    its *limits*, until when its key is pinned; ``unpinned`` is the first thing that it signed from there on.
    ``said`` gives the kind of each entry about events by its position; ``ahead`` are the records dated after
    *clock*, the auditor's own.
    """

    def __init__(self, path: Path, until: Instant | None, limits: Mapping[str, Instant], clock: Instant) -> None:
        self.path, self.until, self._limits, self._clock = path, until, limits, clock
        self.reader = LedgerReader(path)
        self.fold: Fold | None = None
        self.read = 0
        self.after: int | None = None
        self.faults: list[Finding] = []
        self.notes: list[Finding] = []
        self.signatures = Signatures()
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        """For each member, the position of its last entry."""
        self.late_from: dict[str, int] = {}
        self.unpinned: dict[str, int] = {}
        self.ahead: list[int] = []
        self.said: dict[int, str] = {}
        self._places: dict[str, list[int]] = {}
        """For each member, where the entries of its chain stand."""

    def run(self) -> None:
        """Read, verify and fold every record; stop at the first line that is altered."""
        try:
            for claimed in self.reader:
                self._add(claimed)
                self.read += 1
        except BadLine as problem:
            self.fault("altered", problem.line - 1, str(problem))
        except BadEntry as problem:
            code = problem.code if problem.code in ("reordered", "missing") else "altered"
            what = str(problem) if problem.code == code else f"{problem.code}: {problem}"
            self.fault(code, self.read + 1, f"record {self.read + 1}: {what}")
        if self.faults:
            self._note_forks()
        if self.reader.torn:
            self.notes.append(Finding("torn_tail", self.read + 1, "", "the file's last line was cut off"))
        if self.read == 0 and not self.faults:
            raise BadInput("the ledger holds no record: there is nothing to check", source=str(self.path))

    def is_late(self, name: str, count: int) -> bool:
        """Tell whether a checkpoint of *name* over *count* records was signed after its key's time, and note it."""
        late = name in self.late_from and count >= self.late_from[name]
        if late:
            self.unpinned.setdefault(name, count)
        return late

    def fault(self, code: str, position: int, text: str, who: str = "") -> None:
        """Take note of what makes the ledger fail."""
        self.faults.append(Finding(code, position, who, text))

    def _add(self, claimed: FileRecord) -> None:
        if claimed.position != self.read + 1:
            raise self._misplaced(claimed.position)
        stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
        fold = self.fold
        if fold is None:
            fold = self.fold = Fold.open(stored, self.reader.room, keep=False)
        elif claimed.author not in fold.names:
            raise BadEntry("altered", f"{brief(claimed.author)} is not a member of this room")
        elif fold.add(stored) is None:
            raise BadEntry("altered", "its bytes are another author's entry")
        record = fold.last
        if claimed.entry and record.entry is None:
            finding = fold.room.findings[-1]
            raise BadEntry(finding.code, finding.text)
        if not claimed.entry and record.entry is not None:
            raise BadEntry("altered", "kept as raw bytes, though they are an entry of this room")
        self._note(fold, record)
        if self.until is not None and self.after is None and fold.room.calendar.promised(fold.room.at) > self.until:
            self.after = record.position

    def _note(self, fold: Fold, record: Record) -> None:
        name = fold.names[record.author]
        self.first.setdefault(name, record.position)
        if record.entry is not None:
            self.last[name] = record.position
        # By the log's time, which never goes back: a record that is dated back stands after what was later already.
        for limited, until in self._limits.items():
            if fold.chain.at > until:
                self.late_from.setdefault(limited, record.position)
        if record.entry is not None and name in self.late_from:
            self.unpinned.setdefault(name, record.position)
        if record.stored > self._clock:
            self.ahead.append(record.position)
        if record.entry is not None:
            if record.entry.kind in OF_REPORTS:
                self.said[record.position] = record.entry.kind
            self._note_signed(fold, record.position, name, record.entry)

    def _note_signed(self, fold: Fold, position: int, name: str, entry: Entry) -> None:
        """Hold what an entry signs of this log against this log: the head it had seen, and its place in its chain."""
        places, ids = self._places.setdefault(name, []), fold.chain.authors[entry.author].ids
        follows = len(ids) > len(places)
        if follows:
            places.append(position)
        elif entry.n <= len(ids) and ids[entry.n - 1] == entry.id:
            return  # The same bytes again say nothing new.
        # A gap stands until its author signs a log that has it; of two entries with one number, the place of the first.
        own = 0 if follows else places[entry.n - 1] if entry.n <= len(ids) else position
        agrees = entry.seen_count < position and fold.chain.heads[entry.seen_count] == entry.seen_head
        if agrees:
            self.signatures.sign(name, entry.seen_count)
        if own or not agrees:
            place = own if agrees else max(own, min(entry.seen_count, position))
            self.signatures.deny(Denial(position, place, entry.seen_count, entry.seen_head, name, agrees))

    def _misplaced(self, position: int) -> BadEntry:
        """Return what is wrong with a record that says it is at another *position* than it is."""
        expected, what = self.read + 1, f"it says it is at position {position}"
        if position > expected:
            later = any(at == expected for at, _ in entries_in(self.path))
            return BadEntry(
                "reordered" if later else "missing", f"{what}; {expected} {'is elsewhere' if later else 'is not there'}"
            )
        return BadEntry("altered", f"{what}, which was read before")

    def _note_forks(self) -> None:
        """Look for entries under one number in what is not read any more: what is altered excuses nobody's fork."""
        told = set() if self.fold is None else {f.position for f in self.fold.room.findings if f.code == "equivocation"}
        for found in find_proofs([self.path]):
            proof = found.proof
            if proof.n is not None and found.position not in told and proof.first.room == self.reader.room:
                who = proof.signer if self.fold is None else self.fold.names.get(proof.signer, proof.signer)
                text = f"a fork: two different entries {proof.n} of one author, both signed; not read to here"
                self.fault("equivocation", found.position, text, who)

    def up_to(self, records: int) -> Fold:
        """Fold the first *records* records again, at the least the opening; they were verified before."""
        fold: Fold | None = None
        for claimed in LedgerReader(self.path):
            stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
            if fold is None:
                fold = Fold.open(stored, self.reader.room, keep=False)
            else:
                fold.add(stored)
            if claimed.position >= records:
                break  # What follows need not even be a line.
        assert fold is not None
        return fold
