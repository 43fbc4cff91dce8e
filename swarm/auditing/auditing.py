"""The audit: replay a ledger offline and say what it shows, what it contradicts, and what it does not show.

``failed``
    The ledger contradicts itself, its signatures, its checkpoint or the pinned roster.
``contested``
    A member validly signed another log, and never this one. What stands before that is shown.
``incomplete``
    Nothing contradicts, but the identities are not pinned, or not every member is shown to have signed the end.
``verified``
    Everything holds, every key is pinned, and every member signed the result and is covered by another's signature.

A key inside the file is never a trust anchor. No broker and no network is needed, nor is their code loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import time_ns
from typing import Any

from protocols.commitments.status import Status
from protocols.core.findings import Finding
from protocols.core.instants import Instant, parse_instant, show_instant
from protocols.views.summary import summary_of
from swarm.auditing.changes import what_became
from swarm.auditing.promised import Shown, shown_promises
from swarm.auditing.replay import Replay
from swarm.auditing.roster import PathLike, Pin, Roster, pins_of, read_roster
from swarm.auditing.signatures import Contest, Denial
from swarm.auditing.verdict import AuditResult, Exporter, Trace
from swarm.errors import BadInput
from swarm.ledger.chain import Digests
from swarm.ledger.file import read_checkpoint
from swarm.ledger.fold import Fold
from swarm.signed.checkpoint import Checkpoint
from swarm.signed.entry import brief
from swarm.text import fingerprint

__all__ = ["AuditResult", "PathLike", "audit", "read_roster"]

CHAIN = ("seen_mismatch", "chain_gap", "equivocation")
"""What the chain says of an entry that contradicts this log."""
BREACHES = ("violated", "still_owed")
"""What the passing of time says of a debtor, where nobody else has signed that it passed."""


def _machine_clock() -> Instant:
    # An audit loads no event loop, which `swarm.clock` knows about.
    return Instant(time_ns() // 1000)


def audit(
    ledger: PathLike,
    *,
    roster: PathLike | Roster | None = None,
    receipts: Sequence[PathLike] = (),
    as_of: str | None = None,
    clock: Callable[[], Instant] = _machine_clock,
) -> AuditResult:
    """Verify and replay one ledger file, offline.

    Args:
        ledger: The ledger's path.
        roster: Pins the members' keys: a roster's path, or what such a file holds. Without it nothing is ``verified``.
        receipts: Paths of members' checkpoints of the same room.
        as_of: Cuts the history, RFC 3339: what lies after it has not happened.
        clock: The auditor's own clock, microseconds since 1970; records dated after it are noted.

    Returns:
        The verdict, what the room came to, and what the verdict does not say.

    Raises:
        BadInput: A file cannot be read, holds no record, or is not what it is given as.

    Example:
        >>> from swarm import audit
        >>> audit("tests/ledgers/good.jsonl", roster="tests/ledgers/roster.yaml").verdict
        'verified'
    """
    pins = None if roster is None else pins_of(roster if isinstance(roster, Mapping) else read_roster(roster))
    try:
        until = None if as_of is None else parse_instant(as_of)
    except ValueError as error:
        raise BadInput(f"--as-of: {error}") from None
    limits = {name: pin.until for name, pin in (pins or {}).items() if pin.until is not None}
    replay = Replay(Path(ledger), until, limits, clock())
    replay.run()
    return _Conclusion(replay, pins).draw([read_checkpoint(Path(receipt)) for receipt in receipts])


class _Conclusion:
    """What members signed of each other's records, held against the whole log that was replayed."""

    def __init__(self, replay: Replay, pins: dict[str, Pin] | None) -> None:
        self._replay, self._pins = replay, pins
        self._fold = replay.fold
        self._signatures = replay.signatures
        self._names = {} if self._fold is None else self._fold.names
        self._pinned = pins is not None
        self._told: list[Finding] = []
        """What contradicts this log without making it fail, and what is only to be noted."""
        self._spoken: dict[str, Status] = {}
        """How each promise stands by what was said, before time alone is let pass to the instant asked for."""

    def draw(self, receipts: Sequence[Checkpoint]) -> AuditResult:
        """Return the verdict, with the *receipts* that members gave."""
        replay, fold, closing = self._replay, self._fold, self._replay.reader.checkpoint
        if fold is not None:
            for receipt in receipts:
                self._check_receipt(fold, receipt)
        contests: list[Contest] = []
        if fold is not None and not replay.faults:
            if closing is not None:
                self._check_closing(fold, closing)
            self._tell_contradictions(fold)
            contests = self._signatures.contests()
        members = {name: key for key, name in self._names.items()}
        if fold is not None:
            self._check_pins(members)
        # With the earliest of its contests a log ends; what stands before it, whoever contests it has signed too.
        stands = min([replay.read, *(contest.position - 1 for contest in contests)])
        covered = self._signatures.covered_to()
        complete = fold is not None and not replay.faults and self._complete(fold, min(covered, stands))
        self._note_limits(complete or bool(contests), covered)
        failed = bool(replay.faults)
        exporter = None if fold is None else self._exporter(fold)
        alone = self._alone(exporter, covered)
        shown = self._shown(fold, stands)
        promises = self._promises(shown, covered, stands)
        summary = self._summary(shown, promises, covered, alone)
        own = [f.plain() for f in [*sorted([*replay.faults, *self._told], key=lambda f: f.position), *replay.notes]]
        later = [f.plain() for f in ([] if fold is None or not contests else fold.room.findings)
                 if f.position > stands and f.code in CHAIN]  # fmt: skip
        sound = complete and self._pinned
        return AuditResult(
            path=str(replay.path),
            verdict="failed" if failed else "contested" if contests else "verified" if sound else "incomplete",
            entries=replay.read,
            members=members,
            pinned=self._pinned,
            complete=complete,
            covered_to=covered,
            exporter=exporter,
            contested=[contest.plain() for contest in contests],
            stands=stands,
            signed=dict(self._signatures.signed),
            alone=alone,
            promises=promises,
            findings=own + summary.pop("findings", []) + later,
            summary=summary,
            trace=None if fold is None else self._trace(fold),
        )

    def _trace(self, fold: Fold) -> Trace:
        chain, read = fold.chain, self._replay.read
        exporter = self._exporter(fold)
        # A record that does not hold is in the chain, and is no part of what was verified.
        heads = chain.heads if chain.position == read else Digests(islice(chain.heads, read + 1))
        return Trace(
            room=chain.room,
            heads=heads,
            signed=self._signatures.signed,
            denied=[(denial.seen, denial.head, denial.name) for denial in self._signatures.denials if not denial.own],
            exporter=None if exporter is None else exporter.key,
        )

    def _exporter(self, fold: Fold) -> Exporter | None:
        """Return who closed these very records with its checkpoint."""
        closing, over = self._replay.reader.checkpoint, (self._replay.read, fold.chain.head)
        if closing is None or (closing.count, closing.head) != over or not closing.is_signed():
            return None
        return Exporter(closing.by, self._names.get(closing.by))

    # -- who signed what ------------------------------------------------------------------------------------------

    def _check_receipt(self, fold: Fold, receipt: Checkpoint) -> None:
        """Take a member's receipt like one of its entries; raises `BadInput` if it is not one of this room."""
        source, who = str(self._replay.path), self._names.get(receipt.by)
        if receipt.room != fold.chain.room:
            told = who or brief(receipt.by)
            text = (
                f"the receipt of {told} is one of the room {brief(receipt.room)}; this ledger is of {fold.chain.room}"
            )
            raise BadInput(text, source=source)
        if who is None:
            raise BadInput(f"a receipt by {brief(receipt.by)}, which is not a member of this room", source=source)
        if not receipt.is_signed():
            raise BadInput(f"the signature under the receipt is not that of {who}", source=source)
        if receipt.count <= self._replay.read and fold.chain.heads[receipt.count] == receipt.head:
            if not self._replay.is_late(who, receipt.count):
                self._signatures.sign(who, receipt.count)
        else:
            place = min(receipt.count, self._replay.read + 1)
            self._signatures.deny(Denial(0, place, receipt.count, receipt.head, who))

    def _check_closing(self, fold: Fold, closing: Checkpoint) -> None:
        """Hold the exporter's signature against the whole file."""
        read = self._replay.read
        who = fold.names.get(closing.by, closing.by)
        problem = None
        if closing.room != fold.chain.room:
            problem = f"the closing checkpoint is one of the room {brief(closing.room)}"
        elif not closing.is_signed():
            problem = f"the signature under the closing checkpoint is not that of {who}"
        elif closing.count != read:
            problem = f"the closing checkpoint is over {closing.count} records, the file has {read}"
        elif fold.chain.head != closing.head:
            first = max((count for count in self._signatures.signed.values() if count < read), default=0) + 1
            how = what_became(self._replay.path, fold, Denial(0, read, read, closing.head, who), first)
            self._replay.fault("checkpoint_mismatch", min(first, read), f"{_range(first, read)} {how}", who)
        elif closing.by in fold.names and not self._replay.is_late(who, read):
            self._signatures.sign(who, read)
        if problem is not None:
            self._replay.fault("checkpoint_mismatch", min(closing.count, read) + 1, problem)

    def _tell_contradictions(self, fold: Fold) -> None:
        """Say what became of the records that somebody signed otherwise, and which receipts their authors belie."""
        for denial in self._signatures.taken_back():
            if denial.position == 0:
                signed = self._signatures.signed_by(denial.name)
                text = f"its receipt over {denial.seen} records is not of this log, of which it has signed {signed}"
                self._told.append(Finding("two_histories", denial.place, denial.name, text))
        how = None
        for denial in self._signatures.standing():
            if denial.own:
                continue  # The chain has said so.
            who, read = denial.name, self._replay.read
            if not denial.position and denial.seen > read:
                text = f"{who} has signed {denial.seen} records, the file has {read}: cut off, rolled back, or another"
                self._told.append(Finding("rolled_back", read + 1, who, text))
                continue
            first = self._signatures.signed_by(who) + 1
            # What became of the first records that are denied is why all later heads differ too.
            words = f"not what {who} signed either"
            if how is None:
                how = what_became(self._replay.path, fold, denial, first)
                words = str(how)
            code, where = (how.code, f" (at {denial.position})") if denial.position else ("checkpoint_mismatch", "")
            text = f"{_range(first, denial.place)} {words}{where}"
            self._told.append(Finding(code, min(first, denial.place), who, text))

    def _alone(self, exporter: Exporter | None, covered: int) -> str:
        """Return on whose word rests what lies beyond the *covered* records.

        That is the exporter's or, if that is not a member, the word of the one member who alone speaks there.
        """
        if exporter is not None and exporter.member is not None:
            return exporter.member
        speak = [name for name, last in self._replay.last.items() if last > covered]
        if len(speak) == 1:
            return speak[0]
        return "its exporter" if exporter is None else f"its exporter ({fingerprint(exporter.key)}, not a member)"

    # -- whose keys, and what is not shown ------------------------------------------------------------------------

    def _check_pins(self, members: dict[str, str]) -> None:
        if self._pins is None:
            return
        for name, key in members.items():
            # One who never spoke is named by the opening.
            first, pin = self._replay.first.get(name, 1), self._pins.get(name)
            if pin is None:
                self._unpin(first, name, f"{name} speaks with {key}, which the roster given does not pin")
            elif pin.key == key:
                if name in self._replay.unpinned and pin.until is not None:
                    text = f"the key of {name}, {key}, is pinned until {show_instant(pin.until)}; this is later"
                    self._unpin(self._replay.unpinned[name], name, text)
            elif pin.replaces == key:
                self._unpin(
                    first, name, f"{name} speaks with {key}, whose place {pin.key} has taken in the roster given"
                )
            else:
                text = f"{name} speaks with {key}, the roster pins {pin.key}"
                self._replay.fault("key_mismatch", first, text, name)
        for name in sorted(self._pins.keys() - members.keys()):
            self._replay.notes.append(
                Finding("not_in_room", 0, name, f"the roster given has {name}, this room has not")
            )

    def _unpin(self, position: int, name: str, text: str) -> None:
        self._pinned = False
        self._told.append(Finding("not_pinned", position, name, text))

    def _complete(self, fold: Fold, covered_to: int) -> bool:
        closing = fold.room.closing
        if closing is None or self._replay.reader.checkpoint is None or self._replay.reader.torn:
            return False
        return closing.matches(fold.room.setting.members) and closing.signed_up_to <= covered_to

    def _note_limits(self, complete: bool, covered_to: int) -> None:
        read, notes, ahead = self._replay.read, self._replay.notes, self._replay.ahead
        if ahead:
            text = f"{_range(ahead[0], ahead[-1])} dated after the clock of this audit"
            notes.append(Finding("dated_ahead", ahead[0], "", text))
        if self._replay.faults:
            return
        if self._pins is None:
            notes.append(Finding("not_pinned", 0, "", "no roster was given; whose keys these are is not shown"))
        if not complete:
            notes.append(Finding("not_complete", 0, "", "not every member is shown to have signed the end"))
        if covered_to < read:
            first = covered_to + 1
            which = f"record {read} rests" if first == read else f"records {first} to {read} rest"
            text = f"{which} on the word of author and exporter alone"
            notes.append(Finding("uncovered", first, "", text))

    # -- what it came to ------------------------------------------------------------------------------------------

    def _shown(self, whole: Fold | None, stands: int) -> Fold | None:
        """Return the fold to show: what stands, up to the instant asked for, with the promises' time moved there."""
        replay = self._replay
        if whole is None:
            return None
        last = stands if replay.after is None else min(stands, replay.after - 1)
        shown = whole if last >= replay.read else replay.up_to(last)
        # Of what a ledger that does not hold would have said next nothing is known: no deadline is held to have passed.
        holds = not replay.faults and (stands == replay.read or last < stands)
        self._spoken = {} if shown.room.tracker is None else dict(shown.room.tracker.statuses())
        if replay.until is not None and holds:
            _advance(shown, replay.until)
        return shown

    def _promises(self, shown: Fold | None, covered_to: int, stands: int) -> dict[str, Shown]:
        replay = self._replay
        if shown is None or shown.room.tracker is None or not shown.room.tracker.statuses():
            return {}
        last = min(covered_to, stands) if replay.after is None else min(covered_to, stands, replay.after - 1)
        same = replay.until is None and last == shown.chain.position
        covered = shown if same else replay.up_to(last)
        if replay.after is not None and replay.after <= min(covered_to, stands):
            # A record that two members signed is dated after the instant asked for.
            _advance(covered, replay.until)
        asserts = replay.until is None
        return shown_promises(shown.room, covered.room, replay.said, self._spoken, asserts=asserts)

    def _summary(self, shown: Fold | None, promises: dict[str, Shown], covered_to: int, alone: str) -> dict[str, Any]:
        """Return what the room came to, none of it asserted beyond what is shown."""
        if shown is None:
            return {}
        summary = summary_of(shown.room)
        summary["commitments"] = {name: promise.state for name, promise in promises.items()}
        found = []
        for finding in summary["findings"]:
            if finding["code"] in BREACHES and finding["position"] > covered_to:
                if self._replay.until is not None:
                    continue
                finding["text"] += f", by the word of {alone} alone"
            found.append(finding)
        summary["findings"] = found
        return summary


def _advance(fold: Fold, until: Instant | None) -> None:
    """Let the promises' time reach *until*, if it is later than theirs."""
    tracker = fold.room.tracker
    if tracker is not None and until is not None and until > fold.room.calendar.promised(fold.room.at):
        tracker.advance(until)


def _range(first: int, last: int) -> str:
    return f"record {last} is" if first >= last else f"records {first} to {last} are"
