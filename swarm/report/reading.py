"""The data of a report: one ledger, audited, folded and tracked over time. Nothing else reaches the page.

The audit says how many records hold; those, and only those, are folded again by the same code, so that the effect of
each record is available. No path is kept, only names: one ledger gives one page, wherever it is stored.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from protocols.core.instants import LAST, Instant
from protocols.room.room import Room
from swarm.auditing.auditing import PathLike, audit
from swarm.auditing.verdict import AuditResult
from swarm.errors import BadEntry
from swarm.history.timeline import Timeline, read_timeline
from swarm.ledger.chain import HEAD_0
from swarm.ledger.file import LedgerReader, read_checkpoint
from swarm.ledger.fold import Fold
from swarm.log.port import Stored


@dataclass(frozen=True, slots=True)
class Said:
    """One record: position, time, author and body; ``entry`` is None if the bytes are not a valid entry.

    ``step`` is the step that its body names, ``content`` the bytes as they were stored.
    """

    position: int
    at: Instant
    by: str
    kind: str
    step: str
    id: str
    n: int
    seen: int
    content: bytes
    entry: bool

    @property
    def body(self) -> dict[str, Any] | None:
        """The body; None if the bytes are not a valid entry."""
        found: dict[str, Any] | None = json.loads(self.content)["body"] if self.entry else None
        return found

    @property
    def cost(self) -> dict[str, Any]:
        """The cost that the entry declares."""
        found: dict[str, Any] = json.loads(self.content).get("cost") or {} if self.entry else {}
        return found


@dataclass(frozen=True, slots=True)
class Receipt:
    """A member's checkpoint that was compared with the ledger."""

    file: str
    by: str
    count: int
    head: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One ledger as the report sees it. ``room`` and ``timeline`` are None if the opening itself does not hold."""

    name: str
    roster: str | None
    receipts: tuple[Receipt, ...]
    audit: AuditResult
    head: str
    room: Room | None
    said: tuple[Said, ...]
    timeline: Timeline | None

    @property
    def summary(self) -> dict[str, Any]:
        """The room's summary; empty if nothing could be replayed."""
        return self.audit.summary


def read(ledger: PathLike, roster: PathLike | None = None, receipts: Sequence[PathLike] = ()) -> Reading:
    """Audit and fold *ledger*; raises `BadInput` as `swarm.auditing.auditing.audit` does."""
    path = Path(ledger)
    # No clock: the same ledger gives the same page whenever it is made.
    checked = audit(path, roster=roster, receipts=receipts, clock=lambda: LAST)
    names = {key: name for name, key in checked.members.items()}
    held = []
    for receipt in receipts:
        checkpoint = read_checkpoint(Path(receipt))
        by = names.get(checkpoint.by, checkpoint.by)
        held.append(Receipt(PurePath(receipt).name, by, checkpoint.count, checkpoint.head))
    fold, said = _fold(path, checked.stands)
    timeline = None
    if fold is not None:
        timeline = read_timeline(path, checked=checked)
        timeline.source = path.name
        if fold.room.tracker is not None and timeline.as_of is not None:
            # Advance to the timeline's own end, so that both say the same of every promise.
            fold.room.tracker.advance(timeline.as_of)
    return Reading(
        name=path.name,
        roster=None if roster is None else PurePath(roster).name,
        receipts=tuple(held),
        audit=replace(checked, path=path.name),
        head=HEAD_0 if fold is None else fold.chain.head,
        room=None if fold is None else fold.room,
        said=tuple(said),
        timeline=timeline,
    )


def _fold(path: Path, records: int) -> tuple[Fold | None, list[Said]]:
    """Fold the first *records* records, which the audit found to hold."""
    fold: Fold | None = None
    said: list[Said] = []
    reader = LedgerReader(path)
    try:
        for claimed in reader:
            if claimed.position > records:
                break
            stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
            if fold is None:
                fold = Fold.open(stored, reader.room, keep=False)
            else:
                fold.add(stored)
            said.append(_said(fold))
    except BadEntry:
        # The audit named this line; the lines before it hold.
        pass
    return fold, said


def _said(fold: Fold) -> Said:
    record, entry = fold.last, fold.last.entry
    by = fold.names[record.author]
    if entry is None:
        return Said(record.position, record.stored, by, "no entry", "", record.id, 0, 0, record.payload, False)
    step = entry.body.get("step")
    return Said(
        position=record.position,
        at=record.stored,
        by=by,
        kind=entry.kind,
        step=step if isinstance(step, str) else "",
        id=entry.id,
        n=entry.n,
        seen=entry.seen_count,
        content=entry.payload,
        entry=True,
    )
