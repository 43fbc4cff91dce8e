"""The promises of one history or one ledger at an instant: every state, every move to it, and what comes next.

A move is *known* at the first instant at which the tracker, asked as of then, shows it. So what changed between two
instants is a selection from the moves of one replay, and agrees with two readings, one as of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from protocols.commitments.acts import Act, act_of
from protocols.commitments.chronicle import Chronicle, Passage
from protocols.commitments.graph import Trouble
from protocols.commitments.lifecycle import OPEN_STATES
from protocols.commitments.status import Status
from protocols.core.findings import Finding
from protocols.core.instants import Instant, parse_instant, show_instant
from protocols.messages.bodies import parse_body
from protocols.messages.commitments import COMMITMENT_BODIES, REPORT, CommitmentTerms, EventRule
from swarm.auditing.promised import NOT_SHOWN
from swarm.auditing.verdict import IN_PART, AuditResult
from swarm.errors import BadInput
from swarm.files.document import Document, Source, load, validate
from swarm.history.items import Item, in_words
from swarm.history.tracking import History, end_of, read_acts, tracker_of
from swarm.ledger.file import FileRecord, LedgerReader
from swarm.ledger.fold import Fold
from swarm.log.port import Stored

_LEDGER_BEGINS: Final = b'{"ledger":'


@dataclass(slots=True)
class Timeline:
    """Everything about the promises in ``source`` as of ``as_of`` (``None`` only if nothing has a time).

    ``verdict`` is that of a ledger's audit, to be shown beside everything else. One that failed or is contested is read
    as far as it holds, and time does not go on from there: ``as_of`` may be earlier than requested.
    """

    source: str
    is_ledger: bool
    as_of: Instant | None
    parties: tuple[str, ...]
    rules: Mapping[str, EventRule]
    powers: Mapping[str, Sequence[str]]
    terms: dict[str, CommitmentTerms]
    statuses: dict[str, Status]
    moves: list[Passage]
    items: dict[int, Item]
    findings: list[Finding]
    troubles: list[Trouble]
    verdict: str
    _chronicle: Chronicle | None = field(repr=False)
    keys: Mapping[str, str] = field(default_factory=dict)
    """For an audited ledger: each member's public key."""
    caveats: Mapping[str, str] = field(default_factory=dict)
    """For an audited ledger: what its audit does not show of a promise's state."""
    _ahead: dict[str, Passage] | None = field(default=None, repr=False)

    def terms_of(self, name: str) -> CommitmentTerms:
        """Return the terms of the commitment or instance *name*."""
        return self.terms[base_of(name)]

    def is_template(self, name: str) -> bool:
        """Tell whether *name* only stands for future instances."""
        return "[" not in name and self.terms[name].each is not None

    def open(self) -> list[str]:
        """Return what was created and has not ended, in the order of declaration."""
        return [name for name, s in self.statuses.items() if s.state in OPEN_STATES and not self.is_template(name)]

    def changes(self, after: Instant, until: Instant) -> list[Passage]:
        """Return the moves that show as of *until* and not as of *after*, in the order in which they became known."""
        return [move for move in self.moves if after < move.known <= until]

    def ahead(self) -> dict[str, Passage]:
        """Return the next move of each open commitment if nobody says anything more.

        Commitments without one are left out.
        """
        if self._ahead is None:
            self._ahead = {} if self._chronicle is None else self._chronicle.run_out(self.open())
        return self._ahead

    def because(self, items: Sequence[int]) -> list[Item]:
        """Return the items with these numbers."""
        return [self.items[number] for number in items if number in self.items]


def base_of(name: str) -> str:
    """Return the id of the commitment that *name* is, or is an instance of."""
    return name.partition("[")[0]


def show(instant: Instant | None) -> str:
    """Return an instant as people read it; empty for what holds since before everything."""
    return "" if instant is None else show_instant(instant)


def read_span(after: str, until: str) -> tuple[Instant, Instant]:
    """Read the two instants of ``--diff``; raises `BadInput` if the first is later than the second."""
    try:
        span = parse_instant(after), parse_instant(until)
    except ValueError as error:
        raise BadInput(f"--diff: {error}") from None
    if span[0] > span[1]:
        raise BadInput(f"--diff: {after} is later than {until}; the earlier instant comes first")
    return span


def is_ledger(source: Source) -> bool:
    """Tell whether *source* is the path of a ledger file; raises `BadInput` if it cannot be read."""
    if isinstance(source, Mapping | Document):
        return False
    try:
        with Path(source).open("rb") as file:
            return file.read(len(_LEDGER_BEGINS)) == _LEDGER_BEGINS
    except OSError as error:
        raise BadInput(f"the file cannot be read: {error.strerror}", source=str(source)) from None


def read_timeline(
    source: Source, as_of: str | Instant | None = None, *, checked: AuditResult | None = None
) -> Timeline:
    """Replay a history or a ledger up to *as_of* (default: the history's own, the ledger's last record).

    *checked* is a ledger's audit as of the same instant; without it, the ledger is audited first, against no roster.
    Raises `BadInput`.
    """
    if isinstance(source, Mapping | Document) or not is_ledger(source):
        return _of_history(source, as_of)
    if isinstance(as_of, str):
        try:
            as_of = parse_instant(as_of)
        except ValueError as error:
            raise BadInput(f"as_of: {error}") from None
    if checked is None:
        from swarm.auditing.auditing import audit

        checked = audit(source, as_of=None if as_of is None else show_instant(as_of))
    timeline = _of_ledger(Path(source), as_of, checked.stands, checked.verdict)
    _hold_to(timeline, checked)
    return timeline


def _hold_to(timeline: Timeline, checked: AuditResult) -> None:
    """Let *timeline* assert no breach that the audit does not, and say what rests on one member's word."""
    timeline.keys, timeline.caveats = checked.members, checked.caveats
    for name, promise in checked.promises.items():
        if promise.state == NOT_SHOWN and name in timeline.statuses:
            broken = next((m for m in timeline.moves if (m.commitment, m.after) == (name, "violated")), None)
            if broken is not None:
                timeline.moves.remove(broken)
                timeline.statuses[name] = replace(timeline.statuses[name], state=broken.before, since=None)


# -- histories -----------------------------------------------------------------------------------------------------


def _of_history(source: Source, as_of: str | Instant | None) -> Timeline:
    document = load(source)
    history = validate(History, document)
    acts = read_acts(history, document)
    end = end_of(history, document, as_of, acts)
    created = {act.commitment for act in acts if act.do == "create"}
    chronicle = tracker_of(history, document, created, Chronicle)
    items: dict[int, Item] = {}
    findings: list[Finding] = []
    for act in acts:
        if end is None or act.at > end:
            break
        reason = str(history.history[act.item - 1].get("because", "")) if act.do != REPORT else ""
        items[act.item] = Item(act.item, act.at, act.by, act.do, (act,), reason)
        refusals = chronicle.apply(act).refusals
        findings += [Finding(r.code, act.item, act.by, f"{in_words(act)}: {r.why}") for r in refusals]
    return _timeline(document.source, False, end, chronicle, items, findings)


# -- ledgers -------------------------------------------------------------------------------------------------------


def _of_ledger(path: Path, until: Instant | None, records: int, verdict: str) -> Timeline:
    reader = LedgerReader(path)
    fold: Fold | None = None
    items: dict[int, Item] = {}
    reports: dict[str, int] = {}
    for claimed in _held(reader, records):
        stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
        if fold is None:
            fold = Fold.open(stored, reader.room, keep=False, keeps_moves=True)
        elif until is not None and _lies_after(fold, stored, until):
            break
        else:
            fold.add(stored)
        items[claimed.position] = _item(fold, reports)
    promises = None if fold is None else fold.room.promises
    if fold is None or promises is None or promises.chronicle is None:
        return Timeline(str(path), True, until, (), {}, {}, {}, {}, [], items, [], [], verdict, None)
    end = fold.room.calendar.promised(fold.room.at)
    if until is not None and verdict not in IN_PART:
        # Nothing is known of what such a ledger would have said next, so no deadline counts as passed unanswered.
        end = max(end, until)
    return _timeline(str(path), True, end, promises.chronicle, items, list(fold.room.findings), verdict)


def _held(reader: LedgerReader, records: int) -> Iterator[FileRecord]:
    """Yield the first *records* records; the rest does not hold and is not read."""
    if records > 0:
        for claimed in reader:
            yield claimed
            if claimed.position >= records:
                return


def _lies_after(fold: Fold, stored: Stored, until: Instant) -> bool:
    """Tell whether, with the record *stored*, the promises' time would be past *until*."""
    room = fold.room
    if room.calendar.promised(max(room.at, stored.stored)) <= until:
        return False
    # Only a record that counts moves log time; the chain decides that, here on a copy of itself.
    link = deepcopy(fold.chain).add(stored)
    return link is not None and link.counts


def _item(fold: Fold, reports: dict[str, int]) -> Item:
    record, name = fold.last, fold.names[fold.last.author]
    at = fold.room.calendar.promised(fold.room.at)
    entry = record.entry
    if entry is None:
        return Item(record.position, at, name, "bytes that are no entry")
    reason = entry.body.get("because")
    reason = reason if isinstance(reason, str) else ""
    acts: tuple[Act, ...] = ()
    answers = None
    try:
        body = parse_body(entry.body)
    except ValueError:
        return Item(record.position, at, name, f"{entry.kind}, which breaks its model")
    if isinstance(body, COMMITMENT_BODIES):
        acts = tuple(act_of(body, at=at, item=record.position, by=name, entry_id=record.id))
        answers = reports.get(acts[0].report or "")
        if acts[0].do == REPORT:
            reports[record.id] = record.position
    return Item(record.position, at, name, entry.kind, acts, reason, answers)


# -- both ----------------------------------------------------------------------------------------------------------


def _timeline(
    source: str,
    ledger: bool,
    end: Instant | None,
    chronicle: Chronicle,
    items: dict[int, Item],
    findings: list[Finding],
    verdict: str = "",
) -> Timeline:
    if end is not None:
        chronicle.advance(end)
    return Timeline(
        source,
        ledger,
        end,
        tuple(chronicle.parties),
        chronicle.events,
        chronicle.powers or {},
        dict(chronicle.terms),
        chronicle.statuses(),
        chronicle.moves,
        items,
        findings,
        chronicle.findings(),
        verdict,
        chronicle,
    )
