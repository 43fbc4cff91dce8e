"""`swarm referee`: the rules for acting alone, on a history of proposals, starts and results."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union

from pydantic import Field, create_model

from protocols.actions.fold import Record, Referee
from protocols.actions.opening import Rules, make_rules
from protocols.actions.plans import Action, Grant, Noted, Plan, Refusal, Reported
from protocols.actions.states import State
from protocols.core.canonical import JSON
from protocols.core.instants import Instant, parse_instant, show_instant
from protocols.core.message import Line, Message, Name, Words
from protocols.messages.actions import DEEDS, ActionsOpening, Echo, Repin
from protocols.messages.commitments import InstantText
from protocols.messages.room import Leave
from swarm.errors import BadInput
from swarm.files.document import Document, Source, load, validate


class Said(Message):
    """One line of a history of deeds: when, who, and what is done."""

    at: InstantText
    by: Name
    do: str

    def body(self) -> Message | None:
        """Return the line as the body of a record; None if it only lets time pass."""
        said = {name: getattr(self, name) for name in self.model_fields_set - {"at", "by", "do"}}
        if self.do == "leave":
            return Leave(because=said.get("because") or "no reason given")
        if self.do == "read":
            echo = Echo(**{name: said.pop(name) for name in Echo.model_fields if name in said})
            return DEEDS[self.do].model_validate({"echo": echo, **said})
        if self.do == "repin":
            return Repin()
        return DEEDS[self.do].model_validate(said) if self.do in DEEDS else None


def _line_of(verb: str) -> type[Said]:
    """Return the model of the lines that do *verb*: the fields of the body, beside those of every line.

    A read-back repeats the step as fields of the line.
    """
    body = DEEDS.get(verb)
    said: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in (body.model_fields if body is not None else {}).items()
        if name not in ("kind", "echo")
    }
    if verb == "read":
        said |= {name: (field.annotation, field) for name, field in Echo.model_fields.items()}
    if verb == "leave":
        said |= {"because": (Words | None, None)}
    name = f"{verb.title()}Line"
    said["do"] = (Literal[verb], ...)
    made: type[Said] = create_model(name, __base__=Said, **said)
    made.__doc__ = f"A line that does: {verb}."
    return made


LINES: Final[Mapping[str, type[Said]]] = {verb: _line_of(verb) for verb in (*DEEDS, "leave", "repin", "tick")}
"""The model of a line, by what it does."""

if TYPE_CHECKING:
    AnyLine = Said
else:
    AnyLine = Annotated[Union[tuple(LINES.values())], Field(discriminator="do")]  # noqa: UP007 - made of a table


class Deeds(Message):
    """A room's part about deeds, its members, and what happened: the file of `swarm referee`."""

    room: Line
    members: Annotated[list[Name], Field(min_length=1, max_length=1_000)]
    actions: ActionsOpening
    history: list[AnyLine] = Field(default_factory=list)
    as_of: InstantText | None = None


@dataclass(frozen=True, slots=True)
class StepStatus:
    """One step or undo: its state, how often it was started since it last began anew, and its key."""

    state: str
    attempts: int
    key: str


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """One plan: its state and why, its token while it is good, whom it waits for, and the undos that it owes.

    ``verified`` is None where no verifier has spoken.
    """

    state: str
    why: str | None
    token: int | None
    waits_for: tuple[str, ...]
    owed: tuple[str, ...]
    verified: bool | None
    steps: Mapping[str, StepStatus]

    def plain(self) -> dict[str, JSON]:
        """Return the status as JSON."""
        steps = {name: {"state": s.state, "attempts": s.attempts, "key": s.key} for name, s in self.steps.items()}
        return {
            "state": self.state,
            "why": self.why,
            "token": self.token,
            "waits_for": list(self.waits_for),
            "owed": list(self.owed),
            "verified": self.verified,
            "steps": steps,
        }


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """One resource: its version, None where nobody knows it, and the plans that hold it."""

    version: str | None
    held_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefereeResult:
    """What became of the plans in a history by ``as_of`` (None only for a history without any time).

    ``grants``, ``refused``, ``findings`` and ``reports`` are in the order of the history; their items are lines of it,
    from 1, and the line after the last stands for the time between it and ``as_of``.
    """

    as_of: Instant | None
    plans: Mapping[str, PlanStatus]
    resources: Mapping[str, ResourceStatus]
    grants: tuple[Grant, ...]
    refused: tuple[Refusal, ...]
    findings: tuple[Noted, ...]
    reports: tuple[Reported, ...]

    @property
    def clean(self) -> bool:
        """Whether ``--strict`` passes: no question is open, nothing is half done, let go of, or not what was meant."""
        return not any(
            plan.state in ("asked", "undoing") or plan.why == "hold_lapsed" or plan.verified is False
            for plan in self.plans.values()
        )

    def plain(self) -> dict[str, JSON]:
        """Return the result as JSON."""
        return {
            "as_of": None if self.as_of is None else show_instant(self.as_of),
            "plans": {name: plan.plain() for name, plan in self.plans.items()},
            "resources": {
                name: {"version": each.version, "held_by": list(each.held_by)} for name, each in self.resources.items()
            },
            "grants": [{"plan": each.plan, "token": each.token} for each in self.grants],
            "refused": [{"item": each.item, "code": each.code, "why": each.why} for each in self.refused],
            "findings": [{"item": each.item, "code": each.code, "what": each.what} for each in self.findings],
            "reports": [{"event": each.event, "by": each.by, "item": each.item} for each in self.reports],
        }


def referee(source: Source, as_of: str | Instant | None = None) -> RefereeResult:
    """Say what the rules for acting make of a history of deeds.

    Args:
        source: A history's path, or what such a file holds as plain data.
        as_of: The instant to look from, RFC 3339 text or microseconds since 1970; it overrides the file's. What lies
            after it has not happened.

    Returns:
        The state of each plan and resource, who was granted what, and what was refused.

    Raises:
        BadInput: The history cannot be used; the message names the place and what is valid.

    Example:
        >>> from swarm import referee
        >>> kinds = {"restart": {"by": ["ann"], "on": ["db"], "undo": "nothing"}}
        >>> plan = {"plan": "p", "seen": {"db": "1"}, "steps": [{"kind": "restart", "on": ["db"]}]}
        >>> result = referee({
        ...     "room": "ops",
        ...     "members": ["ann", "ben"],
        ...     "actions": {"decided_by": ["ben"], "resources": {"db": {"version": "1"}}, "kinds": kinds},
        ...     "history": [{"at": "2026-01-04T12:00:00Z", "by": "ann", "do": "propose", **plan}],
        ... })
        >>> result.plans["p"].state, result.plans["p"].token
        ('granted', 1)
    """
    document = load(source)
    deeds = validate(Deeds, document)
    rules = rules_of(deeds, document)
    times = [parse_instant(line.at) for line in deeds.history]
    for place, (before, at) in enumerate(pairwise(times), 1):
        if at < before:
            raise document.error(("history", place, "at"), "the line before it is later; a history is in order")
    end = _end(deeds, as_of, times)
    fold = Referee(rules, deeds.room, deeds.members)
    past = [at for at in times if end is not None and at <= end]
    for place, (at, line) in enumerate(zip(past, deeds.history, strict=False), 1):
        fold.apply(Record(place, at, line.by, line.body()))
    if end is not None and past and past[-1] < end:
        fold.apply(Record(len(past) + 1, end, "", None))
    return _result(fold, end)


def rules_of(deeds: Deeds, document: Document) -> Rules:
    """Return the rules of a history; raise `BadInput` where they cannot be."""
    if len(set(deeds.members)) < len(deeds.members):
        raise document.error(("members",), "a member stands twice")
    try:
        return make_rules(deeds.actions, deeds.members)
    except ValueError as error:
        raise document.error(("actions",), str(error)) from None


def _end(deeds: Deeds, as_of: str | Instant | None, times: list[Instant]) -> Instant | None:
    if isinstance(as_of, str):
        try:
            return parse_instant(as_of)
        except ValueError as error:
            raise BadInput(f"as_of: {error}") from None
    if as_of is not None:
        return as_of
    if deeds.as_of is not None:
        return parse_instant(deeds.as_of)
    return times[-1] if times else None


def _result(fold: Referee, end: Instant | None) -> RefereeResult:
    held = fold.held_by()
    return RefereeResult(
        as_of=end,
        plans={name: _status(fold, plan) for name, plan in fold.plans.items()},
        resources={name: ResourceStatus(version, tuple(held[name])) for name, version in fold.versions.items()},
        grants=tuple(fold.grants),
        refused=tuple(fold.refused),
        findings=tuple(fold.findings),
        reports=tuple(fold.reports),
    )


def _status(fold: Referee, plan: Plan) -> PlanStatus:
    return PlanStatus(
        state=plan.state.shown,
        why=plan.why,
        token=plan.good_token,
        waits_for=tuple(fold.waits_for(plan)) if plan.state is State.WAITING else (),
        owed=tuple(plan.owed()),
        verified=plan.verified,
        steps={action.id: _step(action) for action in plan.actions()},
    )


def _step(action: Action) -> StepStatus:
    return StepStatus(action.state, action.attempts, action.key)
