"""`swarm track`: the commitment tracker alone, on a history of events that a person or a system wrote."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, WithJsonSchema

from protocols.commitments.acts import DOES, Act, Refusal
from protocols.commitments.reports import POWERS, check_authority
from protocols.commitments.status import Status
from protocols.commitments.tracker import Tracker
from protocols.core.canonical import JSON
from protocols.core.instants import INSTANT_FORM, Instant, parse_instant, show_instant
from protocols.core.message import Message, Name
from protocols.messages.commitments import ACTS, CREATE, REPORT, CommitmentTerms, EventRule
from swarm.errors import BadInput
from swarm.files.document import Document, Source, load, validate
from swarm.files.scalars import describe, hold_decimal, quote, write_decimal
from swarm.files.validation import Path


def _fields_of(do: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return what a line that does *do* needs, and what else it may have; every line has `at` and `by`.

    A line creates one commitment, may give a reason for whatever it does, and need not name the offer that it accepts.
    """
    if do == CREATE:
        return frozenset({"commitment"}), frozenset({"because"})
    said = {name: field for name, field in ACTS[do].model_fields.items() if name != "kind"}
    needed = frozenset(name for name, field in said.items() if field.is_required() and name != "offer")
    return needed, frozenset(said) - needed | {"because"}


_DO_FIELDS: Final = {do: _fields_of(do) for do in DOES}
T = TypeVar("T", bound=Tracker)
_EVERY_LINE = frozenset({"at", "by"})

_LINE_SCHEMA: Final[JSON] = {
    "type": "object",
    "required": ["at", "by"],
    "properties": {
        "at": {"type": "string", "description": INSTANT_FORM},
        "by": {"type": "string"},
        "do": {"enum": list(DOES)},
        "event": {"type": "string"},
        "id": {"type": "string", "description": "of a report, so that it can be confirmed"},
        "commitment": {"type": "string"},
        "report": {"type": "string"},
        "to": {"type": "string"},
        "until": {"type": "string", "description": INSTANT_FORM},
        "holds": {"type": "boolean"},
        "offer": {"type": "integer", "minimum": 1, "description": "the place of the delegation that is accepted"},
        "because": {"type": "string"},
    },
    "oneOf": [
        {"required": ["do"], "not": {"required": ["event"]}},
        {"required": ["event"], "not": {"required": ["do"]}},
    ],
    "description": "something done (`do`), or a report (`event`), whose other fields are its attributes",
}


class History(Message):
    """Parties, rules, commitments and what happened: the file of `swarm track`."""

    parties: Annotated[list[Name], Field(min_length=1)]
    events: dict[Name, EventRule] = Field(default_factory=dict)
    powers: dict[str, list[Name]] = Field(default_factory=dict, description=f"any of {', '.join(POWERS)}")
    commitments: list[CommitmentTerms]
    history: list[Annotated[Any, WithJsonSchema(_LINE_SCHEMA)]] = Field(default_factory=list)
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class TrackResult:
    """What became of the commitments by ``as_of`` (``None`` only for a history without any time).

    ``refused`` are the acts that changed nothing, in the order of their times; ``findings`` are pairs of commitments
    that wait for each other or exclude each other.
    """

    as_of: Instant | None
    commitments: dict[str, Status] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    findings: tuple[tuple[str, tuple[str, ...], str], ...] = ()

    @property
    def clean(self) -> bool:
        """Whether ``--strict`` passes: nothing unconfirmed or disputed, and no violation without a remedy."""
        return not any(
            status.state in ("unconfirmed", "disputed")
            or (status.state == "violated" and status.remedy in ("none", "violated") and "waived" not in status.notes)
            for status in self.commitments.values()
        )

    def plain(self) -> dict[str, JSON]:
        """Return the result as JSON."""
        return {
            "as_of": None if self.as_of is None else show_instant(self.as_of),
            "commitments": {name: _plain_status(status) for name, status in self.commitments.items()},
            "refused": [{"item": r.item, "code": r.code, "why": r.why} for r in self.refused],
            "findings": [{"code": code, "commitments": list(ids), "text": text} for code, ids, text in self.findings],
        }


def _plain_status(status: Status) -> dict[str, JSON]:
    return {
        "state": status.state,
        "since": None if status.since is None else show_instant(status.since),
        "because": list(status.because),
        "remedy": status.remedy,
        "debtor": status.debtor,
        "creditor": status.creditor,
        "answerable": list(status.answerable),
        "notes": list(status.notes),
    }


def track(source: Source, as_of: str | Instant | None = None) -> TrackResult:
    """Track the commitments in a history by the rules of commitments/1.

    Args:
        source: A history's path, or what such a file holds as plain data.
        as_of: The instant to look from, RFC 3339 text or microseconds since 1970; it overrides the file's. What lies
            after it has not happened.

    Returns:
        The state of each commitment, and what was refused; an act that may not be done changes nothing else.

    Raises:
        BadInput: The history cannot be used; the message names the place and what is valid.

    Example:
        >>> from swarm import track
        >>> promise = {"id": "pay", "debtor": "ann", "creditor": "ben", "then": "paid by 2026-01-05T00:00:00Z"}
        >>> result = track({
        ...     "parties": ["ann", "ben"],
        ...     "commitments": [promise],
        ...     "history": [{"at": "2026-01-04T12:00:00Z", "event": "paid", "by": "ann"}],
        ... })
        >>> result.commitments["pay"].state
        'satisfied'
    """
    document = load(source)
    history = validate(History, document)
    acts = read_acts(history, document)
    end = end_of(history, document, as_of, acts)
    created = {act.commitment for act in acts if act.do == "create"}
    tracker = tracker_of(history, document, created, Tracker)
    refused: list[Refusal] = []
    for act in acts:
        if end is None or act.at > end:
            break
        refused += tracker.apply(act).refusals
    if end is not None:
        tracker.advance(end)
    return TrackResult(end, tracker.statuses(), tuple(refused), tuple(tracker.findings()))


def end_of(history: History, document: Document, as_of: str | Instant | None, acts: list[Act]) -> Instant | None:
    """Return the instant to look from: *as_of*, otherwise the file's, otherwise the latest time in it."""
    written = None if history.as_of is None else _instant(history.as_of, document, ("as_of",))
    if isinstance(as_of, str):
        try:
            return parse_instant(as_of)
        except ValueError as error:
            raise BadInput(f"as_of: {error}") from None
    if as_of is not None:
        return as_of
    if written is not None:
        return written
    return acts[-1].at if acts else None


def tracker_of(history: History, document: Document, created: set[str | None], kind: type[T]) -> T:
    """Return a tracker of this *kind* that knows the history's commitments.

    *created* are those that a line of it creates.
    """
    if len(set(history.parties)) < len(history.parties):
        raise document.error(("parties",), "a party stands twice")
    known = frozenset(terms.id for terms in history.commitments)
    try:
        check_authority(history.parties, history.events, history.powers, known)
    except ValueError as error:
        raise document.error(("events" if str(error).startswith("events") else "powers",), str(error)) from None
    tracker = kind(history.parties, history.events, history.powers, keeps_past=False, most_instances=None)
    for place, terms in enumerate(history.commitments):
        if tracker.knows(terms.id):
            raise document.error(("commitments", place, "id"), f"two commitments have the id {quote(terms.id)}")
        try:
            tracker.check(terms, known)
        except ValueError as error:
            raise document.error(("commitments", place), f"{quote(terms.id)}: {error}") from None
        tracker.declare(terms, assumed=terms.id not in created)
    return tracker


def read_acts(history: History, document: Document) -> list[Act]:
    """Return the lines of the history as acts, in the order of their times, then of their places in the file."""
    acts = [_act(line, place, document) for place, line in enumerate(history.history)]
    acts.sort(key=lambda act: act.at)
    return acts


def _act(line: Any, place: int, document: Document) -> Act:
    path: Path = ("history", place)
    if not isinstance(line, dict):
        raise document.error(path, f"expected a mapping, found {describe(line)}")
    at = _instant(line.get("at"), document, (*path, "at"))
    by = _text(line, "by", document, path)
    do = line.get("do")
    if "event" in line:
        if "do" in line:
            raise document.error(path, "a line is either done (do) or reported (event), not both")
        event = _text(line, "event", document, path)
        name = _text(line, "id", document, path) if "id" in line else None
        attributes = {
            key: value if type(value) is str else _attribute(value, document, (*path, key))
            for key, value in line.items()
            if key not in _REPORT_FIELDS
        }
        return Act(at, place + 1, by, REPORT, report=name, event=event, attributes=attributes)
    if not isinstance(do, str) or do not in _DO_FIELDS:
        found = "nothing" if do is None else describe(do)
        raise document.error((*path, "do"), f"expected one of {', '.join(DOES)}, or event for a report; found {found}")
    return _done(do, line, at, by, place, document)


_REPORT_FIELDS = frozenset({"at", "by", "event", "id"})


def _done(do: str, line: dict[str, Any], at: Instant, by: str, place: int, document: Document) -> Act:
    path: Path = ("history", place)
    needed, optional = _DO_FIELDS[do]
    for key in line:
        if key != "do" and key not in needed and key not in optional and key not in _EVERY_LINE:
            valid = ", ".join(sorted({"do", *_EVERY_LINE, *needed, *optional}))
            raise document.error((*path, key), f"unknown field {quote(key)} for {do} (valid: {valid})")
    texts = {key: _text(line, key, document, path) for key in ("commitment", "report", "to") if key in needed}
    if "because" in line:
        _text(line, "because", document, path)
    until = _instant(line["until"], document, (*path, "until")) if line.get("until") is not None else None
    holds = line.get("holds")
    if do == "decide" and not isinstance(holds, bool):
        raise document.error((*path, "holds"), f"expected true or false, found {describe(holds)}")
    offer = line.get("offer")
    if offer is not None and (type(offer) is not int or offer < 1):
        raise document.error((*path, "offer"), f"expected the place of a delegation, found {describe(offer)}")
    return Act(
        at,
        place + 1,
        by,
        do,
        offer=offer,
        commitment=texts.get("commitment"),
        report=texts.get("report"),
        to=texts.get("to"),
        until=until,
        holds=holds,
    )


def _instant(value: Any, document: Document, path: Path) -> Instant:
    if not isinstance(value, str):
        raise document.error(path, f"expected {INSTANT_FORM}, found {describe(value)}")
    try:
        return parse_instant(value)
    except ValueError as error:
        raise document.error(path, str(error)) from None


def _text(line: dict[str, Any], key: str, document: Document, path: Path) -> str:
    """Return the text at *key*; a number in the place of a name is taken as it is written."""
    value = line.get(key)
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return _attribute(value, document, (*path, key))
    raise document.error((*path, key), f"expected text, found {describe(value)}")


def _attribute(value: Any, document: Document, path: Path) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal) and hold_decimal(value):
        return write_decimal(value)
    if isinstance(value, str):
        return value
    raise document.error(path, f"an attribute is text or a number, found {describe(value)}")
