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
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from protocols.core.findings import Finding
from protocols.core.instants import Instant, parse_instant
from protocols.views.summary import summary_of
from swarm.auditing.verdict import AuditResult, Trace
from swarm.errors import BadEntry, BadInput
from swarm.ledger.chain import Digests, Record
from swarm.ledger.differing import Place, how_changed
from swarm.ledger.equivocation import find_proofs
from swarm.ledger.file import BadLine, FileRecord, LedgerReader, entries_in, read_checkpoint
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.signed.checkpoint import Checkpoint
from swarm.signed.entry import brief
from swarm.signed.identity import NO_KEY, is_public_key

__all__ = ["AuditResult", "audit", "read_roster"]

PathLike = str | os.PathLike[str]
OPEN_ENDS = ("unconfirmed", "disputed")


def read_roster(path: PathLike) -> dict[str, str]:
    """Return the pinned roster (member name → public key) in a YAML or JSON file."""
    from swarm.files.document import read_document

    document = read_document(path)
    roster = document.data
    if not isinstance(roster, dict) or not roster:
        raise document.error((), "a roster maps each member's name to its public key")
    for name, key in roster.items():
        if not isinstance(key, str) or not is_public_key(key):
            raise document.error((name,), NO_KEY)
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
    return run.conclude(pins, [read_checkpoint(Path(receipt)) for receipt in receipts])


class _Denial(NamedTuple):
    """An entry that signs another head than this log's: its position, what it signs, and its author."""

    position: int
    seen: int
    head: str
    name: str


class _Audit:
    """One pass over one ledger; with *until*, a second pass over what had happened by then."""

    def __init__(self, path: Path, until: Instant | None) -> None:
        self._path = path
        self._until = until
        self._reader = LedgerReader(path)
        self._fold: Fold | None = None
        self._read = 0
        self._after: int | None = None
        """The first record after *until*."""
        self._faults: list[Finding] = []
        self._notes: list[Finding] = []
        self._first: dict[str, int] = {}
        """The position of each member's first record."""
        self._covered: dict[str, int] = {}
        """For each member, the highest count whose head it signed and this ledger has."""
        self._denied: list[_Denial] = []
        """Entries that sign another head."""

    def replay(self) -> None:
        """Read, verify and fold every record; stop at the first altered line."""
        try:
            for claimed in self._reader:
                self._add(claimed)
                self._read += 1
        except BadLine as problem:
            self._fault("altered", problem.line - 1, str(problem))
        except BadEntry as problem:
            code = problem.code if problem.code in ("reordered", "missing") else "altered"
            what = str(problem) if problem.code == code else f"{problem.code}: {problem}"
            self._fault(code, self._read + 1, f"record {self._read + 1}: {what}")
        if self._faults:
            self._note_forks()
        if self._reader.torn:
            self._notes.append(Finding("torn_tail", self._read + 1, "", "the file's last line was cut off"))
        if self._read == 0 and not self._faults:
            raise BadInput("the ledger holds no record: there is nothing to check", source=str(self._path))

    def _fault(self, code: str, position: int, text: str, who: str = "") -> None:
        self._faults.append(Finding(code, position, who, text))

    def _add(self, claimed: FileRecord) -> None:
        if claimed.position != self._read + 1:
            raise self._misplaced(claimed.position)
        stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
        fold = self._fold
        if fold is None:
            fold = self._fold = Fold.open(stored, self._reader.room, keep=False)
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
        self._first.setdefault(fold.names[record.author], record.position)
        self._note_seen(fold, record)
        if self._until is not None and self._after is None and fold.room.calendar.promised(fold.room.at) > self._until:
            self._after = record.position

    def _note_seen(self, fold: Fold, record: Record) -> None:
        entry = record.entry
        if entry is None:
            return
        name = fold.names[record.author]
        if entry.seen_count < record.position and fold.chain.heads[entry.seen_count] == entry.seen_head:
            self._covered[name] = max(self._covered.get(name, 0), entry.seen_count)
        else:
            self._denied.append(_Denial(record.position, entry.seen_count, entry.seen_head, name))

    def _misplaced(self, position: int) -> BadEntry:
        """Return what is wrong with a record that claims another *position* than its own."""
        expected, what = self._read + 1, f"it says it is at position {position}"
        if position > expected:
            later = any(at == expected for at, _ in entries_in(self._path))
            return BadEntry(
                "reordered" if later else "missing", f"{what}; {expected} {'is elsewhere' if later else 'is not there'}"
            )
        return BadEntry("altered", f"{what}, which was read before")

    def _note_forks(self) -> None:
        """Look for entries with one number in the part that is not read: an altered record hides nobody's fork."""
        told = (
            set() if self._fold is None else {f.position for f in self._fold.room.findings if f.code == "equivocation"}
        )
        for found in find_proofs([self._path]):
            proof = found.proof
            if proof.n is not None and found.position not in told and proof.first.room == self._reader.room:
                who = proof.signer if self._fold is None else self._fold.names.get(proof.signer, proof.signer)
                text = f"a fork: two different entries {proof.n} of one author, both signed; not read to here"
                self._fault("equivocation", found.position, text, who)

    # -- beyond single records ------------------------------------------------------------------------------------

    def conclude(self, pins: Mapping[str, str] | None, receipts: Sequence[Checkpoint]) -> AuditResult:
        """Compare what members signed of each other's records with the whole log, and return the verdict."""
        fold, closing = self._fold, self._reader.checkpoint
        members = {} if fold is None else {name: key for key, name in fold.names.items()}
        if fold is not None and not self._faults:
            for receipt in receipts:
                self._check_receipt(fold, receipt)
            self._check_heads()
            if closing is not None and not self._faults:
                self._check_closing(fold, closing)
        if pins is not None and fold is not None:
            self._check_pins(pins, members)
        exporter = closing.by if closing is not None else ""
        covered_to = max((c for name, c in self._covered.items() if members.get(name) != exporter), default=0)
        complete = fold is not None and not self._faults and self._complete(fold, covered_to)
        if not self._faults:
            self._note_limits(pins, complete, covered_to)
        shown = self._as_of(fold)
        summary: dict[str, Any] = {} if shown is None else summary_of(shown.room)
        own = [finding.plain() for finding in [*sorted(self._faults, key=lambda f: f.position), *self._notes]]
        return AuditResult(
            path=str(self._path),
            verdict="failed" if self._faults else "verified" if complete and pins is not None else "incomplete",
            entries=self._read,
            members=members,
            pinned=pins is not None,
            complete=complete,
            covered_to=covered_to,
            findings=own + summary.pop("findings", []),
            summary=summary,
            unmet=_unmet(shown),
            trace=None if fold is None else self._trace(fold),
        )

    def _trace(self, fold: Fold) -> Trace:
        closing, chain = self._reader.checkpoint, fold.chain
        # A record that does not hold is in the chain, but is not part of what was verified.
        heads = chain.heads if chain.position == self._read else Digests(islice(chain.heads, self._read + 1))
        exported = closing is not None and (closing.count, closing.head) == (self._read, chain.head)
        return Trace(
            room=chain.room,
            heads=heads,
            signed=self._covered,
            denied=[(denial.seen, denial.head, denial.name) for denial in self._denied],
            exporter=closing.by if closing is not None and exported and closing.is_signed() else None,
        )

    def _check_receipt(self, fold: Fold, receipt: Checkpoint) -> None:
        who = fold.names.get(receipt.by, receipt.by)
        if receipt.room != fold.chain.room:
            text = f"the receipt of {who} is one of the room {brief(receipt.room)}; this ledger is of {fold.chain.room}"
            raise BadInput(text, source=str(self._path))
        if not receipt.is_signed():
            raise BadInput(f"the signature under the receipt is not that of {who}", source=str(self._path))
        if receipt.count > self._read:
            text = (
                f"{who} has signed {receipt.count} records, the file has {self._read}: cut off, rolled back, or another"
            )
            self._fault("rolled_back", self._read + 1, text, who)
        elif fold.chain.heads[receipt.count] != receipt.head:
            how = self._how_changed(_Denial(receipt.count, receipt.count, receipt.head, who))
            self._fault_in_range("checkpoint_mismatch", str(how), receipt.count, who)
        elif receipt.by in fold.names:
            self._covered[who] = max(self._covered.get(who, 0), receipt.count)

    def _check_heads(self) -> None:
        """Judge entries that sign another head: either their author lies, or the log is not the one that it saw.

        A head covers every record before it. So whoever signs this log's head at that place or later confirms the log
        there: the author itself, or at least as many others as deny it. What nobody confirms counts against the log
        (docs/adr/0004).
        """
        deniers = {denial.name for denial in self._denied}
        how = None
        for denial in sorted(self._denied, key=lambda each: min(each.seen, each.position)):
            # The entry itself is at its position, whatever it claims to have seen beyond that.
            at = min(denial.seen, denial.position)
            vouching = {member for member, covered in self._covered.items() if covered >= at}
            if denial.name not in vouching and len(vouching) < len(deniers - vouching):
                if how is None:
                    how = self._how_changed(denial)
                    words = str(how)
                else:
                    # What became of the first denied records also explains why all later heads differ.
                    words = f"not what {denial.name} signed either"
                self._fault_in_range(how.code, words, at, denial.name, f" (at {denial.position})")

    def _how_changed(self, denial: _Denial) -> BadEntry:
        """Return what became of the records whose head *denial* signs differently: as a code and in words."""
        assert self._fold is not None
        who = denial.name
        last = min(denial.seen, denial.position)
        first = min(self._confirmed(last) + 1, last)
        if first < 1:
            return BadEntry("altered", f"not what {who} signed")
        places, entries = [], 0
        for claimed in islice(LedgerReader(self._path), first - 1, last + 1):
            places.append(Place(claimed.stored, claimed.author, sha256(claimed.payload).hexdigest()))
            entries += claimed.entry and claimed.position <= last
        how = how_changed(self._fold.chain.heads[first - 1], first, places, denial.head, denial.seen, who)
        if how is not None and how.code == "added" and denial.seen >= denial.position:
            # Its author had seen what stands after it, so it was not added but moved.
            return BadEntry("reordered", f"not in the order that {who} signed")
        if how is not None:
            return how
        gaps = (f.position for f in self._fold.room.findings if f.code == "chain_gap")
        if denial.seen > denial.position or any(position >= first for position in gaps):
            return BadEntry("missing", f"not all that {who} signed: at least one is missing")
        if entries < last - first + 1:
            return BadEntry("altered", f"not what {who} signed, or at other times")
        text = f"whole and in order, but not at the times that {who} signed, or another stands in place of one"
        return BadEntry("redated", text)

    def _confirmed(self, last: int) -> int:
        """Return the highest count before *last* whose head here somebody signed."""
        return max((c for c in self._covered.values() if c < last), default=0)

    def _fault_in_range(self, code: str, how: str, last: int, who: str, where: str = "") -> None:
        """Say what became of the records that no signature confirms, up to *last*."""
        confirmed = self._confirmed(last)
        which = f"record {last} is" if confirmed + 1 >= last else f"records {confirmed + 1} to {last} are"
        self._fault(code, min(confirmed + 1, last), f"{which} {how}{where}", who)

    def _check_closing(self, fold: Fold, closing: Checkpoint) -> None:
        who = fold.names.get(closing.by, closing.by)
        problem = None
        if closing.room != fold.chain.room:
            problem = f"the closing checkpoint is one of the room {brief(closing.room)}"
        elif not closing.is_signed():
            problem = f"the signature under the closing checkpoint is not that of {who}"
        elif closing.count != self._read:
            problem = f"the closing checkpoint is over {closing.count} records, the file has {self._read}"
        elif fold.chain.head != closing.head:
            how = self._how_changed(_Denial(closing.count, closing.count, closing.head, who))
            self._fault_in_range("checkpoint_mismatch", str(how), closing.count, who)
        if problem is not None:
            self._fault("checkpoint_mismatch", min(closing.count, self._read) + 1, problem)

    def _check_pins(self, pins: Mapping[str, str], members: Mapping[str, str]) -> None:
        for name, key in members.items():
            # A member that never spoke is named by the opening.
            first = self._first.get(name, 1)
            if name not in pins:
                self._fault("key_mismatch", first, f"{name} is not in the roster given", name)
            elif pins[name] != key:
                self._fault("key_mismatch", first, f"{name} speaks with {key}, the roster pins {pins[name]}", name)
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
            first, last = covered_to + 1, self._read
            which = f"record {last} rests" if first == last else f"records {first} to {last} rest"
            text = f"{which} on the word of author and exporter alone"
            self._notes.append(Finding("uncovered", first, "", text))

    # -- as of ----------------------------------------------------------------------------------------------------

    def _as_of(self, whole: Fold | None) -> Fold | None:
        """Return the fold to show: all of it, or that of the records before *until*, with the promises' time moved."""
        if whole is None or self._until is None:
            return whole
        shown = whole if self._after is None else self._up_to(self._after)
        tracker = shown.room.tracker
        # Nothing is known of what a failed ledger would have said next, so no deadline counts as passed unanswered.
        holds = not self._faults
        if tracker is not None and holds and self._until > shown.room.calendar.promised(shown.room.at):
            tracker.advance(self._until)
        return shown

    def _up_to(self, after: int) -> Fold:
        """Fold again what is before position *after*, at least the opening; it was verified before."""
        fold: Fold | None = None
        for claimed in LedgerReader(self._path):
            stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
            if fold is None:
                fold = Fold.open(stored, self._reader.room, keep=False)
            elif claimed.position >= after:
                break
            else:
                fold.add(stored)
        assert fold is not None
        return fold


def _unmet(fold: Fold | None) -> list[str]:
    if fold is None or fold.room.tracker is None:
        return []
    return [
        name
        for name, status in fold.room.tracker.statuses().items()
        if status.state in OPEN_ENDS
        or name in fold.room.owed
        or (status.state == "violated" and status.remedy in ("none", "violated") and "waived" not in status.notes)
    ]
