"""A scenario file: a room, and the minds of its members.

The public part becomes the opening that every member signs. Each member's private part (its answers, points, reserve)
goes only to that member's process.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, model_validator

from agents.script import Offered, as_value
from protocols.concord.options import complete
from protocols.core.event import Event
from protocols.core.instants import Instant
from protocols.core.message import Message, Name, Words
from protocols.core.names import check_apart
from protocols.messages.bodies import first_problem
from protocols.messages.commitments import AGREED, CommitmentTerms, EventRule
from protocols.messages.concord import Issue, Option
from protocols.messages.room import TASK, Agenda, Authority, Rehearsal, RoomOpen, RosterEntry, Rules
from protocols.room.room import Room
from protocols.stage.stage import Refused
from swarm.errors import BadInput
from swarm.files.document import Document, Source, load, validate
from swarm.scenario.members import CustomMember, ExecMember, Member, ScriptedMember, UtilityMember
from swarm.seat.limits import Breach, Listed
from swarm.seat.mandate import Mandate, offer_breach, reserve_breach
from swarm.seat.owing import Circumstances, promise_breach

MOST_VALUES = 1000

_VALUE = {"type": ["string", "number"]}
_VALUES = {"type": "array", "items": _VALUE, "minItems": 1, "maxItems": MOST_VALUES}
_ISSUE_SCHEMA = {
    "description": "the values to choose from: a list, a list with its unit, or a range of numbers",
    "oneOf": [
        _VALUES,
        {
            "type": "object",
            "properties": {"values": _VALUES, "unit": {"type": "string"}},
            "required": ["values"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "from": {"type": "number"},
                "to": {"type": "number"},
                "step": {"type": "number", "exclusiveMinimum": 0, "default": 1},
                "unit": {"type": "string"},
            },
            "required": ["from", "to"],
            "additionalProperties": False,
        },
    ],
}


def _issue(value: Any) -> Any:
    """Accept a bare list of values, a range {from, to, step, unit}, or {values, unit}."""
    if isinstance(value, list):
        return {"values": [as_value(item) for item in value]}
    if isinstance(value, dict) and "from" in value:
        return _range(value)
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        return value | {"values": [as_value(item) for item in value["values"]]}
    return value


def _range(value: dict[str, Any]) -> dict[str, Any]:
    unknown = set(value) - {"from", "to", "step", "unit"}
    if unknown:
        raise ValueError(f"a range has from, to, step and unit, not {', '.join(sorted(unknown))}")
    first, last, step = value["from"], value.get("to"), value.get("step", 1)
    for number in (first, last, step):
        if type(number) is not int and not isinstance(number, Decimal):
            raise ValueError("a range needs numbers for from, to and step")
    if step <= 0 or last < first:
        raise ValueError("a range goes up: from <= to, step > 0")
    if (last - first) / Decimal(step) >= MOST_VALUES:
        raise ValueError(f"a range has at most {MOST_VALUES} values")
    values, current = [], first
    while current <= last:
        values.append(int(current) if current == int(current) else as_value(current))
        current += step
    return {"values": values} | ({"unit": value["unit"]} if value.get("unit") is not None else {})


class Scenario(Message):
    """The file of `swarm run` and `swarm open`."""

    room: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
    intent: Words
    agenda: Annotated[list[Agenda], Field(min_length=1)]
    terms: list[Name] = Field(default_factory=list)
    issues: dict[Name, Annotated[Issue, BeforeValidator(_issue), WithJsonSchema(_ISSUE_SCHEMA)]] = Field(
        default_factory=dict
    )
    authority: Authority = Field(default_factory=Authority)
    events: dict[Name, EventRule] = Field(default_factory=dict)
    powers: dict[Name, list[Name]] = Field(default_factory=dict)
    promises: list[CommitmentTerms] = Field(default_factory=list)
    rules: Rules = Field(default_factory=Rules)
    status_quo: Offered | None = None
    rehearsal: Rehearsal | None = None
    members: Annotated[list[Member], Field(min_length=2, max_length=64)]

    @model_validator(mode="before")
    @classmethod
    def _no_templates(cls, value: Any) -> Any:
        # Keys that begin with x- are for anchors to reuse, as in other YAML formats.
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if not str(key).startswith("x-")}
        return value

    @property
    def names(self) -> list[str]:
        """The members' names, in roster order."""
        return [member.name for member in self.members]

    def opening(self, keys: Mapping[str, str], nonce: str | None = None) -> RoomOpen:
        """Return the opening for members with these public *keys*; raises pydantic's ``ValidationError``."""
        roster = [RosterEntry(name=m.name, key=keys[m.name], role=m.role) for m in self.members]
        return RoomOpen(
            slug=self.room,
            intent=self.intent,
            roster=roster,
            agenda=list(self.agenda),
            terms=list(self.terms),
            issues=dict(self.issues),
            authority=self.authority,
            events=dict(self.events),
            powers=dict(self.powers),
            promises=list(self.promises),
            rules=self.rules,
            status_quo=self.status_quo,
            rehearsal=self.rehearsal,
            nonce=nonce or secrets.token_hex(32),
        )


def read_scenario(source: Source) -> Scenario:
    """Return the scenario at a path or in plain data; raise `BadInput` with place, reason and what is valid.

    Beyond its form, everything is checked that can be known before the room opens: that it would open, that every
    option of a script would be accepted, and that no member's part contradicts its own mandate.
    """
    document = load(source)
    scenario = validate(Scenario, document)
    _check_members(scenario, document)
    _check_options(scenario, document, _trial(scenario, document))
    _check_mandates(scenario, document)
    return scenario.model_copy(update={"members": [_settled(member, document.source) for member in scenario.members]})


def _settled(member: Any, source: str) -> Any:
    """Return *member* with the folder of its class or command filled in, so that its own process finds it too."""
    folder = Path(source).resolve().parent if Path(source).is_file() else Path.cwd()
    if isinstance(member, ExecMember):
        return member.model_copy(update={"folder": str(folder / (member.folder or ""))})
    if not isinstance(member, CustomMember) or member.folder is not None:
        return member
    return member.model_copy(update={"folder": str(folder)})


def _check_members(scenario: Scenario, document: Document) -> None:
    twice = [name for name in scenario.names if scenario.names.count(name) > 1]
    if twice:
        raise document.error(("members",), f"two members have the name {twice[0]!r}")
    scopes = {
        "members": scenario.names,
        "terms": [TASK, *scenario.terms],
        "issues": scenario.issues,
        "events": [AGREED, *scenario.events],
        "promises": [terms.id for terms in scenario.promises],
    }
    for what, names in scopes.items():
        try:
            check_apart(what, names)
        except ValueError as error:
            raise document.error((what,), str(error).removeprefix(f"{what}: ")) from None
    for place, member in enumerate(scenario.members):
        if isinstance(member, ScriptedMember):
            for field in ("judges", "settles"):
                _known_members(getattr(member, field), scenario, document, ("members", place, field))
        if isinstance(member, UtilityMember):
            unknown = sorted(set(member.values) - set(scenario.issues))
            if unknown:
                valid = ", ".join(scenario.issues) or "none"
                raise document.error(("members", place, "values", unknown[0]), f"no issue of this room; valid: {valid}")
            for issue, points in member.values.items():
                known = {str(value) for value in scenario.issues[issue].values}
                for value in points:
                    if value not in known:
                        text = f"{value} is not one of {', '.join(sorted(known))}"
                        raise document.error(("members", place, "values", issue), text)


def _known_members(
    planned: Mapping[str, Any], scenario: Scenario, document: Document, path: tuple[str | int, ...]
) -> None:
    for term, said in planned.items():
        named = (
            said.keys() if isinstance(said, dict) else {said.adopt, said.rule, *(said.split or {}).values()} - {None}
        )
        for member in named:
            if member not in scenario.names:
                text = f"{member!r} is no member; valid: {', '.join(scenario.names)}"
                raise document.error((*path, term), text)


def _dummy_keys(scenario: Scenario) -> dict[str, str]:
    return {
        name: "U" + f"{place:055d}".translate(str.maketrans("0189", "ABCD"))
        for place, name in enumerate(scenario.names)
    }


def _trial(scenario: Scenario, document: Document) -> Room:
    keys = _dummy_keys(scenario)
    try:
        opening = scenario.opening(keys, "0" * 64)
        return Room.open(
            Event(1, Instant(0), scenario.names[0], "0" * 64, Instant(0), opening), keys[scenario.names[0]]
        )
    except Refused as refused:
        raise _placed(document, refused.why) from None
    except ValidationError as error:
        raise _placed(document, first_problem(error)) from None


def _placed(document: Document, text: str) -> BadInput:
    """Turn the rules' ``events.paid.by: what is wrong`` into an error about that place of the file."""
    place, colon, message = text.partition(": ")
    path = tuple(int(step) if step.isdigit() else step for step in place.split("."))
    if colon and path[0] in Scenario.model_fields:
        return document.error(path, message)
    return document.error((), text)


def _check_options(scenario: Scenario, document: Document, room: Room) -> None:
    """Check every option of a script as the room would, if no quote of another member decides."""
    opening = room.setting.opening
    for place, member in enumerate(scenario.members):
        if not isinstance(member, ScriptedMember):
            continue
        for path, option in _scripted_options(member, place):
            try:
                complete(option, member.name, opening, {}, room.tracker, 0)
            except Refused as refused:
                raise document.error(path, f"{option.title!r}: {refused.why}") from None


def _scripted_options(member: ScriptedMember, place: int) -> list[tuple[tuple[str | int, ...], Option]]:
    """Return every option of the script of the member at *place*, with its place in the file."""
    first = [] if member.proposes is None else [(("members", place, "proposes"), member.proposes)]
    return [*first, *((("members", place, "improves", i), option) for i, option in enumerate(member.improves))]


def _check_mandates(scenario: Scenario, document: Document) -> None:
    """Check that each mandate speaks of this room, leaves something to say, and allows what the member's part says."""
    for place, member in enumerate(scenario.members):
        if member.mandate is None:
            continue
        mandate, path = member.mandate, ("members", place, "mandate")
        _known_to_room(mandate, scenario, document, path)
        found = promise_breach(mandate.promises, member.name, scenario.promises, _circumstances(scenario))
        if found is not None:
            raise document.error((*path, "promises"), f"the room's promises are {found.private}")
        for said, problem in _own_answers(member, place, scenario):
            if problem is not None:
                raise document.error(said, problem.private)


def _known_to_room(mandate: Mandate, scenario: Scenario, document: Document, path: tuple[str | int, ...]) -> None:
    promises = mandate.promises
    named: list[tuple[tuple[str, ...], Sequence[str], Collection[str], str]] = [
        (("offers",), list(mandate.offers), scenario.issues, "issue"),
        (("promises", "never_debtor_of"), promises.never_debtor_of if promises else (), scenario.events, "event"),
        (("terms",), mandate.terms, ["task", *scenario.terms], "term"),
    ]
    for where, names, known, kind in named:
        for index, name in enumerate(names):
            if name not in known:
                below = name if where == ("offers",) else index
                text = f"{name!r} is no {kind} of this room; valid: {', '.join(known) or 'none'}"
                raise document.error((*path, *where, below), text)
    for issue, allowed in mandate.offers.items():
        values, unit = scenario.issues[issue].values, scenario.issues[issue].unit
        texts = [str(value) for value in values]
        if unit != allowed.unit:
            text = f"the unit of {issue} is {unit or 'none'}, and not {allowed.unit or 'none'}"
            raise document.error((*path, "offers", issue), text)
        for value in allowed.values if isinstance(allowed, Listed) else ():
            if str(value) not in texts:
                text = f"{str(value)!r} is not one of {', '.join(texts)}"
                raise document.error((*path, "offers", issue), text)
        if all(offer_breach(mandate, {issue: [value]}, scenario.issues) is not None for value in values):
            text = f"allows no value of {issue}; the room's are {', '.join(texts)}"
            raise document.error((*path, "offers", issue), text)


def _circumstances(scenario: Scenario, owed: Sequence[str] = ()) -> Circumstances:
    return Circumstances({terms.id: terms for terms in scenario.promises}, scenario.events, owed)


def _own_answers(member: Any, place: int, scenario: Scenario) -> Iterator[tuple[tuple[str | int, ...], Breach | None]]:
    """Yield what a member's part says in advance, with the breach of its mandate, if any."""
    mandate, here = member.mandate, ("members", place)
    if isinstance(member, ScriptedMember):
        for path, option in _scripted_options(member, place):
            offer = {issue: [value] for issue, value in option.offer.items()}
            yield path, offer_breach(mandate, offer, scenario.issues)
            owed = [terms.id for terms in scenario.promises if terms.debtor == member.name]
            made = promise_breach(mandate.promises, member.name, option.commitments, _circumstances(scenario, owed))
            yield path, made
        for issue, values in member.quotes.items():
            yield (*here, "quotes", issue), offer_breach(mandate, {issue: values}, scenario.issues)
    proposes = isinstance(member, UtilityMember) or (isinstance(member, ScriptedMember) and member.proposes)
    if proposes and "concord" in scenario.agenda:
        yield (*here, "reserve"), reserve_breach(mandate, member.reserve)
