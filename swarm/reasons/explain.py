"""What a finding or a state means; why the room of a ledger ended as it did; how a thing in a file stands, and why.

One word may name several things (a commitment called ``late``, and the finding); all of them are explained. The reasons
for a ledger are those of `swarm.reasons`, which the report shows too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from protocols.commitments.chronicle import Passage
from protocols.commitments.conditions import parse
from protocols.commitments.lifecycle import MAY, TERMINAL, UNSETTLED, Move, Role, State, allows
from protocols.commitments.status import Status
from protocols.commitments.tree import Condition, LifeCycle, event_of, leaves
from protocols.core.canonical import JSON
from protocols.core.findings import CODES, Finding
from protocols.core.instants import show_instant
from protocols.messages.commitments import EventRule
from swarm.auditing.verdict import IN_PART
from swarm.errors import BadInput
from swarm.files.document import Document, Source
from swarm.files.scalars import quote
from swarm.history.items import Item
from swarm.history.timeline import Timeline, base_of, is_ledger, read_timeline, show
from swarm.ledger.file import LedgerReader
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.reasons import Reason, find_options, of_commitment, of_member, reasons, why_not, would_have_changed
from swarm.reasons.record import find_claim, record_of, record_of_claim
from swarm.text import fingerprint, visible

STATES: Final[Mapping[str, str]] = {
    "none": "It was written down and never created: nobody has promised anything.",
    "conditional": "Created; it binds nobody until its antecedent (if) holds.",
    "detached": "Its antecedent holds, or it has none: the debtor owes the consequent (then) now.",
    "satisfied": "Kept: the consequent holds in its window. Final.",
    "expired": "The antecedent can no longer hold, so nothing was ever owed. Final.",
    "violated": "Broken: the consequent can no longer hold in its window, or the debtor cancelled what it owed. Final; "
    "a remedy is a commitment of its own and does not undo it.",
    "terminated": "Called off without fault: cancelled before it bound, or released by its creditor. Final.",
    "pending": "Suspended: its clocks stand still until it is resumed.",
    "unconfirmed": "The window closed, and only an answer to a report in time is missing: neither kept nor broken "
    "until its confirmer answers.",
    "disputed": "The window closed, and it hangs on a report that its confirmer disputes: neither kept nor broken "
    "until that is decided.",
}
WORDS: Final[Mapping[str, str]] = {
    "due": "Remedy: what was promised for this breach is open and not yet performed.",
    "remedied": "Remedy: what was promised for this breach was performed. The breach stays one.",
    "late_performance": "Note: violated, and what was promised happened after its window.",
    "never_expires": "Note: the antecedent has no end, so the commitment may stay conditional for ever.",
    "never_violated": "Note: the consequent has no end, so the debtor can never be late.",
    "waived": "Note: the creditor gave up the remedies of this breach, which stays one.",
    "verified": "Verdict: every record is what its author signed, every key is pinned, and every member signed the "
    "end. It is not a verdict on whether what members said is true.",
    "incomplete": "Verdict: nothing contradicts, but whose keys these are or how the room ended is not shown.",
    "contested": "Verdict: a member validly signed another log from some record on, and never this one. What stands "
    "before that is shown; that member's own ledger or receipt would settle it.",
    "failed": "Verdict: the ledger contradicts itself, its signatures, its checkpoint or the roster.",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The meaning of one name. ``kind`` is room, option, commitment, member, claim, item, finding, state or word.

    For a commitment: its ``status``, the ``condition`` under which it was promised, the items that led to its state
    (``because``), its ``life`` so far, what comes by itself (``ahead``) and what could change it (``could``).
    Otherwise, ``commitments`` and ``findings`` are those in the file that the name is about, and ``record`` says how a
    member scored and moved, or where a claim comes from. In a ledger, ``reasons`` say why, and ``changes`` say which
    single change would have made another option win.
    """

    kind: str
    name: str
    meaning: str
    severity: str | None = None
    key: str | None = None
    status: Status | None = None
    condition: str = ""
    because: tuple[Item, ...] = ()
    life: tuple[Passage, ...] = ()
    ahead: Passage | None = None
    could: tuple[str, ...] = ()
    commitments: tuple[tuple[str, Status], ...] = ()
    findings: tuple[Finding, ...] = ()
    record: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    changes: tuple[Reason, ...] = ()

    def lines(self) -> list[str]:
        """Return the explanation for people, as lines; members' texts are made visible."""
        head = f"{visible(self.name)}  ({self.kind}{'' if self.severity is None else ', ' + self.severity})"
        lines = [head, f"  {visible(self.meaning)}"]
        if self.key is not None:
            lines.append(f"  speaks with the key {fingerprint(self.key)}")
        lines += [f"  why  {reason.cited()}" for reason in self.reasons]
        lines += [f"  change  {reason.cited()}" for reason in self.changes]
        if self.status is not None:
            lines += self._status_lines(self.status)
        elif self.kind == "item":
            lines += [f"  {_shown(item)}" for item in self.because]
        for move in self.life:
            lines.append(f"  {'life' if self.kind == 'commitment' else 'led to'}  {self._moved(move)}")
        if self.ahead is not None:
            lines.append(f"  next  {self._moved(self.ahead)}, if nobody says anything more")
        lines += [f"  could change it: {visible(way)}" for way in self.could]
        lines += [f"  {visible(name)}: {status.state}" for name, status in self.commitments]
        lines += [f"  record  {visible(told)}" for told in self.record]
        for finding in self.findings:
            place = f" at {finding.position}" if finding.position else ""
            who = f" {visible(finding.who)}:" if finding.who else ""
            lines.append(f"  found {finding.code}{place}:{who} {visible(finding.text)}")
        return lines

    def _status_lines(self, status: Status) -> Iterator[str]:
        since = f" since {show(status.since)}" if status.since is not None else ""
        yield f"  state  {status.state}{since}  {visible(status.debtor)} → {visible(status.creditor)}"
        if status.remedy != "none":
            yield f"  remedy  {status.remedy}"
        if status.answerable:
            yield f"  answerable too  {', '.join(map(visible, status.answerable))}"
        if status.notes:
            yield f"  noted  {', '.join(status.notes)}"
        yield f"  promise  {visible(self.condition)}"
        for item in self.because:
            yield f"  because  {_shown(item)}"

    def _moved(self, move: Passage) -> str:
        name = "" if self.kind == "commitment" else f"{visible(move.commitment)}: "
        if move.before == move.after:
            return f"{name}{move.after}, {visible(move.text)}, {show(move.since)}"
        items = f" because of {', '.join(map(str, move.because))}" if move.because else ""
        time = ", by the passing of a deadline" if move.by_time else ""
        return f"{name}{move.before} → {move.after} {show(move.since)}".rstrip() + time + items

    def plain(self) -> dict[str, JSON]:
        """Return the explanation as JSON; members' texts are exact."""
        found: dict[str, JSON] = {"kind": self.kind, "name": self.name, "meaning": self.meaning}
        if self.severity is not None:
            found["severity"] = self.severity
        if self.key is not None:
            found["key"] = self.key
        if self.status is not None:
            found |= {
                "state": self.status.state,
                "since": None if self.status.since is None else show_instant(self.status.since),
                "debtor": self.status.debtor,
                "creditor": self.status.creditor,
                "remedy": self.status.remedy,
                "notes": list(self.status.notes),
                "condition": self.condition,
                "because": [item.plain() for item in self.because],
                "life": [move.plain() for move in self.life],
                "ahead": None if self.ahead is None else self.ahead.plain(),
                "could": list(self.could),
            }
        elif self.kind == "item":
            found["item"] = [item.plain() for item in self.because]
            found["life"] = [move.plain() for move in self.life]
        if self.record:
            found["record"] = list(self.record)
        if self.reasons:
            found["reasons"] = [reason.plain() for reason in self.reasons]
        if self.changes:
            found["changes"] = [reason.plain() for reason in self.changes]
        if self.kind not in ("commitment", "word"):
            found["commitments"] = {name: status.state for name, status in self.commitments}
        found["findings"] = [
            {"code": f.code, "position": f.position or None, "who": f.who, "text": f.text} for f in self.findings
        ]
        return found


def explain(name: str | None, source: Source | None = None, *, as_of: str | None = None) -> list[Explanation]:
    """Explain a finding's code, a state or a word that the product prints; or, with a file, a thing in it.

    Args:
        name: In a history or a ledger, a commitment, an instance, a member, or the number of a line or record; in a
            ledger also an option, by its title or id, and a claim, by its id or as ``member:label``. None explains
            how the ledger's room ended.
        source: The history or the ledger.
        as_of: The instant to look from, RFC 3339 text.

    Returns:
        Everything that the name means: one word may name several things.

    Raises:
        BadInput: The name means nothing here; the message says what is near it.

    Example:
        >>> from swarm import explain
        >>> [meaning.kind for meaning in explain("violated")]
        ['finding', 'state']
    """
    if source is None:
        found = list(_of_language(name or "", None, ()))
        if not found:
            raise _unknown(name or "", None)
        return found
    file = _read(source, as_of)
    if name is None:
        return [_whole(file)]
    found = [*_in_file(name, file), *_of_language(name, file.timeline, file.findings)]
    if not found:
        raise _unknown(name, file)
    return found


def is_word(name: str) -> bool:
    """Tell whether *name* is a code, a state or another word of ours."""
    return name in CODES or name in STATES or name in WORDS


@dataclass(frozen=True, slots=True)
class _File:
    """A history or a ledger that was read; for a ledger, also its audit's summary, and its fold as far as it holds."""

    timeline: Timeline
    findings: Sequence[Finding]
    summary: Mapping[str, Any] = field(default_factory=dict)
    fold: Fold | None = None

    def names(self) -> Iterator[str]:
        """Yield the names that may be asked about."""
        yield from (*self.timeline.statuses, *self.timeline.parties, *self.summary.get("patterns", {}))
        if self.fold is not None and self.fold.room.concord is not None:
            yield from (c.option.title for c in self.fold.room.concord.candidates.values())


def _read(source: Source, as_of: str | None) -> _File:
    """Read *source*; for a ledger, also everything that its audit finds, and the audit's summary."""
    if isinstance(source, Mapping | Document) or not is_ledger(source):
        timeline, summary, fold = read_timeline(source, as_of), dict[str, Any](), None
    else:
        from swarm.auditing.auditing import audit

        checked = audit(source, as_of=as_of)
        summary = checked.summary
        timeline = read_timeline(source, as_of, checked=checked)
        timeline.findings = [Finding(f["code"], f["position"] or 0, f["who"], f["text"]) for f in checked.findings]
        fold = _folded(Path(source), len(timeline.items))
        if fold is not None and fold.room.tracker is not None and timeline.as_of is not None:
            fold.room.tracker.advance(timeline.as_of)
    findings = [*timeline.findings, *(Finding(code, 0, "", text) for code, _, text in timeline.troubles)]
    return _File(timeline, findings, summary, fold)


def _folded(path: Path, records: int) -> Fold | None:
    """Fold the first *records* records, which were read before, and keep them: reasons describe entries in words."""
    fold: Fold | None = None
    if records:
        reader = LedgerReader(path)
        for claimed in reader:
            stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
            if fold is None:
                fold = Fold.open(stored, reader.room)
            else:
                fold.add(stored)
            if claimed.position >= records:
                break
    return fold


def _unknown(name: str, file: _File | None) -> BadInput:
    known = [*CODES, *STATES, *WORDS]
    place = ""
    if file is not None:
        known += file.names()
        options = ", an option" if file.fold is not None else ""
        place = f", nor a commitment, a member{options} or an item of {file.timeline.source}"
    near = get_close_matches(name, dict.fromkeys(known), n=3)
    hint = f"; near it: {', '.join(near)}" if near else "; swarm explain CODE, or swarm explain FILE ID"
    return BadInput(f"{quote(name)} is no code of a finding and no state{place}{hint}")


def _shown(item: Item) -> str:
    return f"{item.number}  {show(item.at)}  {visible(item.by)} {visible(item.said)}"


# -- in a file -----------------------------------------------------------------------------------------------------


def _whole(file: _File) -> Explanation:
    """Explain a whole ledger: how it ended, why, and what would have changed it. For a history, list its contents."""
    timeline, fold = file.timeline, file.fold
    statuses = tuple((n, s) for n, s in timeline.statuses.items() if not timeline.is_template(n))
    if fold is None:
        what = "The opening does not hold." if timeline.is_ledger else "A history of promises: name one to explain it."
        return Explanation("file", timeline.source, what, commitments=statuses)
    name, intent = fold.room.setting.room, fold.room.setting.opening.intent
    why, record = tuple(reasons(fold)), tuple[str, ...]()
    if timeline.verdict in IN_PART:
        came_to = "FAILED its audit" if timeline.verdict == "failed" else "is CONTESTED"
        record = (f"this ledger {came_to}; all of this is read from its first {len(timeline.items)} records",)
    changes = tuple(would_have_changed(fold))
    return Explanation("room", name, intent, commitments=statuses, record=record, reasons=why, changes=changes)


def _in_file(name: str, file: _File) -> Iterator[Explanation]:
    timeline, summary, findings = file.timeline, file.summary, file.findings
    if file.fold is not None and file.fold.room.concord is not None:
        for option in find_options(file.fold.room.concord, name):
            yield _option(option, file.fold)
    if name in timeline.statuses:
        yield _commitment(name, timeline, findings, file.fold)
    if name in timeline.parties or name in summary.get("patterns", {}):
        yield _member(name, timeline, findings, record_of(name, summary), file.fold)
    claim = find_claim(name, summary)
    if claim is not None:
        meaning = f"{claim['by']} says, as {claim['source']}: {claim['text']}"
        yield Explanation("claim", name, meaning, record=record_of_claim(claim, summary))
    if name.isascii() and name.isdecimal() and len(name) < 19 and int(name) in timeline.items:
        yield _item(int(name), timeline, findings)


def _option(identifier: str, fold: Fold) -> Explanation:
    concord = fold.room.concord
    assert concord is not None
    option = concord.candidates[identifier].option
    offer = ", ".join(f"{issue} {value}" for issue, value in option.offer.items())
    meaning = f"An option: {offer}." if offer else "An option."
    stands = identifier == concord.standing
    why, changes = tuple(why_not(fold, identifier)), tuple(would_have_changed(fold)) if stands else ()
    return Explanation("option", option.title, meaning, reasons=why, changes=changes)


def _commitment(name: str, timeline: Timeline, findings: Sequence[Finding], fold: Fold | None) -> Explanation:
    status, terms = timeline.statuses[name], timeline.terms_of(name)
    condition = f"then {terms.consequent}"
    if terms.antecedent is not None:
        condition = f"if {terms.antecedent} {condition}"
    about = [Finding(code, 0, "", text) for code, names, text in timeline.troubles if base_of(name) in names]
    on_it = (name, base_of(name))
    touched = {item.number for item in timeline.items.values() if any(act.commitment in on_it for act in item.acts)}
    about += [finding for finding in findings if finding.position in touched]
    return Explanation(
        "commitment",
        name,
        STATES[status.state],
        status=status,
        condition=condition,
        record=(timeline.caveats[name],) if name in timeline.caveats else (),
        because=tuple(timeline.because(status.because)),
        life=tuple(move for move in timeline.moves if move.commitment == name),
        ahead=timeline.ahead().get(name),
        could=tuple(_could(name, timeline)),
        findings=tuple(about),
        reasons=() if fold is None else tuple(of_commitment(fold, name, entries=False)),
    )


def _member(
    name: str, timeline: Timeline, findings: Sequence[Finding], record: tuple[str, ...], fold: Fold | None
) -> Explanation:
    of = {n: s for n, s in timeline.statuses.items() if name in (s.debtor, s.creditor, *s.answerable)}
    still = [timeline.statuses[n] for n in timeline.open()]
    owes = sum(s.debtor == name for s in still)
    owed = sum(s.creditor == name for s in still)
    broken = sum(s.debtor == name and s.state == State.VIOLATED for s in of.values())
    meaning = f"A party: debtor of {owes} open commitments, creditor of {owed}; has broken {broken}."
    about = tuple(finding for finding in findings if finding.who == name)
    key, of_it = timeline.keys.get(name), tuple(of.items())
    why = () if fold is None else tuple(of_member(fold, name))
    return Explanation("member", name, meaning, key=key, commitments=of_it, findings=about, record=record, reasons=why)


def _item(number: int, timeline: Timeline, findings: Sequence[Finding]) -> Explanation:
    item = timeline.items[number]
    place = "record" if timeline.is_ledger else "line"
    return Explanation(
        "item",
        str(number),
        f"The {place} {number} of {timeline.source}.",
        because=(item,),
        life=tuple(move for move in timeline.moves if number in move.because),
        findings=tuple(finding for finding in findings if finding.position == number),
    )


# -- what could change a commitment ----------------------------------------------------------------------------------


def _could(name: str, timeline: Timeline) -> Iterator[str]:
    """Yield what somebody could still say that counts for the commitment *name*, and who may say it."""
    status, terms = timeline.statuses[name], timeline.terms_of(name)
    state = State(status.state)
    if state in TERMINAL and not (state is State.VIOLATED and "waived" not in status.notes):
        yield f"nothing: {state} is final"
        return
    if state in UNSETTLED:
        yield from _answers(status, timeline)
    conditions: list[Condition] = []
    if state is State.CONDITIONAL and terms.antecedent is not None:
        conditions.append(parse(terms.antecedent))
    if state in (State.CONDITIONAL, State.DETACHED):
        conditions.append(parse(terms.consequent))
        for leaf in dict.fromkeys(leaf for condition in conditions for leaf in leaves(condition)):
            event = event_of(leaf)
            if event is not None:
                yield f"{leaf}, {_who_reports(timeline.rules.get(event.name))}"
            elif isinstance(leaf, LifeCycle):
                other = timeline.statuses[leaf.commitment]
                if other.state != leaf.state:
                    yield f"{leaf}: {leaf.commitment} is {other.state}"
    for step, role in MAY.items():
        if allows(state, step) and step is not Move.ACCEPT:
            who = {
                Role.DEBTOR: status.debtor,
                Role.CREDITOR: status.creditor,
            }.get(role) or ", ".join(timeline.powers.get(step.value, timeline.powers.get("suspend", ())))
            if who:
                yield f"{step.value}, by {who}"


def _answers(status: Status, timeline: Timeline) -> Iterator[str]:
    for item in timeline.because(status.because):
        for act in item.acts:
            rule = timeline.rules.get(act.event or "")
            if rule is None or rule.confirmed_by is None:
                continue
            yield f"confirm the report at {item.number}, by {rule.confirmed_by}"
            if status.state == State.UNCONFIRMED:
                yield f"dispute the report at {item.number}, by {rule.confirmed_by}"
            elif rule.decided_by is not None:
                yield f"decide on the report at {item.number}, by {rule.decided_by}"


def _who_reports(rule: EventRule | None) -> str:
    by = "anyone" if rule is None or rule.by is None else rule.by
    confirmed = "" if rule is None or rule.confirmed_by is None else f", confirmed by {rule.confirmed_by}"
    return f"reported by {by}{confirmed}"


# -- words of ours ---------------------------------------------------------------------------------------------------


def _of_language(name: str, timeline: Timeline | None, findings: Sequence[Finding]) -> Iterator[Explanation]:
    statuses = {} if timeline is None else timeline.statuses
    if name in CODES:
        severity, meaning = CODES[name]
        about = tuple(finding for finding in findings if finding.code == name)
        names = {n for code, ids, _ in (() if timeline is None else timeline.troubles) if code == name for n in ids}
        of = tuple((n, s) for n, s in statuses.items() if n in names)
        yield Explanation("finding", name, meaning, severity.value, commitments=of, findings=about)
    if name in STATES:
        of = tuple((n, s) for n, s in statuses.items() if s.state == name)
        yield Explanation("state", name, STATES[name], commitments=of)
    if name in WORDS:
        of = tuple((n, s) for n, s in statuses.items() if name in (s.remedy, *s.notes))
        yield Explanation("word", name, WORDS[name], commitments=of)
