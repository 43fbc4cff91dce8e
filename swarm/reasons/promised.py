"""What became of a promise, and because of which entries."""

from collections.abc import Iterator, Sequence
from typing import Final

from protocols.commitments.conditions import parse
from protocols.commitments.lifecycle import State
from protocols.commitments.status import Status
from protocols.commitments.tree import LifeCycle, leaves
from protocols.core.instants import show_instant
from protocols.messages.bodies import parse_body
from protocols.messages.commitments import COMMITMENT_BODIES, CommitmentTerms, CreateCommitment, verb_of
from protocols.room.joining import PROMISING
from protocols.room.room import Room
from swarm.ledger.chain import Record
from swarm.ledger.fold import Fold
from swarm.reasons.words import MOST_NAMED, Reason, answers_to, places, room_of, said
from swarm.text import visible

_STATES: Final = {
    "none": "It was never made.",
    "conditional": "It binds nobody yet: what it waits for has not happened.",
    "detached": "It is owed: what it waited for has happened.",
    "satisfied": "It was kept.",
    "expired": "It expired: what it waited for can no longer happen, so nothing was ever owed.",
    "violated": "It was broken.",
    "terminated": "It was called off without fault.",
    "pending": "It is suspended.",
    "unconfirmed": "It is neither kept nor broken: what was reported in time nobody has confirmed.",
    "disputed": "It is neither kept nor broken: what was reported in time is disputed.",
}


def of_commitment(what: Fold | Room, name: str, *, entries: bool = True) -> list[Reason]:
    """Return what became of the commitment or instance *name*, and because of which entries; empty if there is none.

    With *entries*, each of these is a sentence of its own, if the fold kept its records.
    """
    tracker = room_of(what).tracker
    if tracker is None:
        return []
    try:
        status = tracker.status(name)
    except KeyError:
        return []
    told = _told(what, status) if entries else ()
    return [*_promised(what, name, status), *_became(what, name, status), *told, *_remedied(what, name, status)]


def _records(what: Fold | Room) -> Sequence[Record]:
    """Return the records if they were kept: with them, entries are described in words."""
    return what.records if isinstance(what, Fold) else ()


def _author(what: Fold | Room, record: Record) -> str:
    keys = room_of(what).setting.keys
    return next(name for name, key in keys.items() if key == record.author)


def _terms(what: Fold | Room, name: str) -> tuple[CommitmentTerms | None, int]:
    """Return the terms of *name* and the position at which they were first signed, 0 if that is not available."""
    room = room_of(what)
    concord = room.concord
    base = name.partition("[")[0]
    for terms in room.setting.opening.promises:
        if terms.id == base:
            return terms, answers_to(room, PROMISING).get(terms.debtor, 1)
    if concord is not None and room.ending is not None and room.ending.outcome == "agreed" and concord.standing:
        chosen = concord.candidates[concord.standing]
        for terms in chosen.option.commitments:
            if terms.id == base:
                return terms, chosen.position
    for record in _records(what):
        if record.entry is None or record.entry.kind != "commitment.create":
            continue
        try:
            body = parse_body(record.entry.body)
        except ValueError:
            continue
        if isinstance(body, CreateCommitment):
            for terms in body.commitments:
                if terms.id == base and terms.debtor == _author(what, record):
                    return terms, record.position
    return None, 0


def _promised(what: Fold | Room, name: str, status: Status) -> Iterator[Reason]:
    terms, at = _terms(what, name)
    if terms is None:
        yield Reason(f"{visible(status.debtor)} owes this to {visible(status.creditor)}.")
        return
    condition = f"if {visible(terms.antecedent)}, then " if terms.antecedent is not None else ""
    text = f"{visible(terms.debtor)} promised {visible(terms.creditor)}: {condition}{visible(terms.consequent)}."
    yield Reason(text, places([at]))
    if (terms.debtor, terms.creditor) != (status.debtor, status.creditor):
        yield Reason(f"It is now between {visible(status.debtor)}, who owes it, and {visible(status.creditor)}.")


def _became(what: Fold | Room, name: str, status: Status) -> Iterator[Reason]:
    since = "" if status.since is None else f" Since {show_instant(status.since)}."
    text = _STATES[status.state]
    if status.state == State.VIOLATED:
        by = _cancelled(what, name)
        text += " What was owed did not happen in its window." if by is None else f" {visible(by)} cancelled it."
    yield Reason(text + since, places(status.because))
    if "late_performance" in status.notes:
        yield Reason("What was promised happened after its window: late, which does not undo the breach.")
    for member in status.answerable:
        yield Reason(f"{visible(member)}, who handed it on, stays answerable.")


def _told(what: Fold | Room, status: Status) -> Iterator[Reason]:
    """Describe the entries that led to the state, in words."""
    for position in status.because:
        told = _entry_in_words(what, position)
        if told:
            yield Reason(told, places([position]))


def _cancelled(what: Fold | Room, name: str) -> str | None:
    """Return who cancelled *name*, None if nobody did."""
    promises = room_of(what).promises
    for member, operations in (promises.operated if promises is not None else {}).items():
        if any(done.commitment == name and done.do == "cancel" for done in operations):
            return member
    return None


_VERBS: Final = {
    "report": "reported", "confirm": "confirmed", "dispute": "disputed", "decide": "decided on", "cancel": "cancelled",
    "release": "released", "waive": "waived", "delegate": "delegated", "accept": "accepted", "assign": "assigned",
    "suspend": "suspended", "resume": "resumed",
}  # fmt: skip


def _entry_in_words(what: Fold | Room, position: int) -> str:
    """Return what the entry about promises at *position* says; empty if the fold kept no records."""
    records = _records(what)
    if not 0 < position <= len(records):
        return ""
    record = records[position - 1]
    if record.entry is None:
        return ""
    try:
        body = parse_body(record.entry.body)
    except ValueError:
        return ""
    if not isinstance(body, COMMITMENT_BODIES) or isinstance(body, CreateCommitment):
        return ""
    verb = verb_of(record.entry.kind)
    verb = _VERBS.get(verb, f"said {verb} of")
    plain = body.plain()
    about = plain.get("event") or plain.get("commitment") or _reported(what, plain.get("report", ""))
    attributes = ", ".join(f"{visible(k)} {said(str(v), 40)}" for k, v in (plain.get("attributes") or {}).items())
    because = f": {said(plain['because'])}" if plain.get("because") else "."
    who = visible(_author(what, record))
    return f"{who} {verb} {visible(str(about))}{f' ({attributes})' if attributes else ''}{because}"


def _reported(what: Fold | Room, report: str) -> str:
    for record in _records(what):
        if record.id == report and record.entry is not None:
            return str(record.entry.body.get("event", "a report"))
    return "a report"


def _remedied(what: Fold | Room, name: str, status: Status) -> Iterator[Reason]:
    tracker = room_of(what).tracker
    assert tracker is not None
    if status.state != State.VIOLATED:
        return
    remedies = {n: s for n, s in tracker.statuses().items() if _is_remedy(what, n, name)}
    words: Sequence[tuple[str, str]] = (
        ("remedied", "It was made good"),
        ("due", "What was promised for this breach is still due"),
        ("violated", "What was promised for this breach was not done either"),
        ("none", "Nothing was promised for this breach" if not remedies else "Nothing is owed for it any more"),
    )
    by = [f"{visible(n)} is {s.state}" for n, s in remedies.items() if s.state != State.NONE][:MOST_NAMED]
    positions = places(p for s in remedies.values() for p in s.because)
    yield Reason(f"{dict(words)[status.remedy]}{': ' + '; '.join(by) if by else ''}.", positions)
    if "waived" in status.notes:
        yield Reason(f"{visible(status.creditor)} waived it.")


def _is_remedy(what: Fold | Room, other: str, name: str) -> bool:
    terms, _ = _terms(what, other)
    if terms is None or terms.antecedent is None or "[" in other:
        return False

    base = name.partition("[")[0]
    return any(
        isinstance(leaf, LifeCycle) and leaf.commitment == base and leaf.state == State.VIOLATED
        for leaf in leaves(parse(terms.antecedent))
    )
