"""The bodies that open, join, leave and close a room, and the seal and reveal of every sealed answer."""

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, StringConstraints, model_validator

from protocols.core import names
from protocols.core.canonical import digest
from protocols.core.instants import SECOND, parse_duration, parse_instant
from protocols.core.message import Base64Url, Hex, Key, Line, Message, Name, StepId, Text, Words
from protocols.messages.budget import Budget
from protocols.messages.commitments import AGREED, CommitmentTerms, EventRule
from protocols.messages.concord import Issue, Option

FEWEST_MEMBERS, MOST_MEMBERS = 2, 64
MOST_TERMS = 50
MOST_COMPARED = 20_000
"""How many comparisons of meanings a room may need: pairs of members × terms. The result may list each of them."""
MOST_NOMINATIONS = 3
SHORTEST_STEP_S = 2
TASK = "task"
"""The first term of every room: the intent itself."""

Agenda = Literal["accord", "concord", "commitments"]
AGENDA_ORDER: Final[tuple[str, ...]] = get_args(Agenda)
"""The items of an agenda, in the only order in which an opening may list them."""
VERSIONS = {
    "room": "room/1",
    "accord": "accord/1",
    "concord": "concord-select/1",
    "commitments": "commitments/1",
    "names": names.VERSION,
}
"""The versions of the rules that this code implements; a room under other versions is declined."""


def most_terms(members: int) -> int:
    """Return how many terms, `TASK` included, a room with this number of *members* can have."""
    return min(MOST_TERMS + 1, MOST_COMPARED // (members * (members - 1) // 2))


class RosterEntry(Message):
    """One member: its name in this room, its public key, and the role in which it speaks."""

    name: Name
    key: Key
    role: Text | None = None


class Authority(Message):
    """Who alone decides what: the values of an issue, the meaning of a term."""

    issues: dict[Name, Name] = Field(default_factory=dict)
    terms: dict[Name, Name] = Field(default_factory=dict)


class Rules(Message):
    """The numbers of a room. Scores are 0–100; times are whole seconds of the log."""

    bar: Annotated[int, Field(ge=1, le=100)] = 50
    floor: Annotated[int, Field(ge=0, le=99)] = 0
    rejects: Annotated[int, Field(ge=0, le=1000)] = 1
    improvements: Annotated[int, Field(ge=0, le=1000)] = 10
    on_divergence: Literal["carry", "block"] = "carry"
    step_seconds: Annotated[int, Field(ge=SHORTEST_STEP_S, le=31_536_000)] = 30
    watch_seconds: Annotated[int, Field(ge=0, le=315_360_000)] = 60
    skew_seconds: Annotated[int, Field(ge=1, le=86_400)] = 60
    budget: Budget | None = None
    versions: dict[str, str] = Field(default_factory=lambda: dict(VERSIONS))

    @model_validator(mode="after")
    def _floor_below_bar(self) -> "Rules":
        if self.floor >= self.bar:
            raise ValueError(f"floor ({self.floor}) must be below bar ({self.bar})")
        return self


class Rehearsal(Message):
    """A rehearsal: for promises, one second of the log counts as ``second``, starting at ``agreed_at``."""

    agreed_at: Line
    second: Line

    @model_validator(mode="after")
    def _times(self) -> "Rehearsal":
        parse_instant(self.agreed_at)
        if parse_duration(self.second) < SECOND:
            raise ValueError("a second of a rehearsal counts as at least one second")
        return self


class RoomOpen(Message):
    """The opening of a room: everything that its members sign by joining."""

    kind: Literal["room.open"] = "room.open"
    slug: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
    intent: Words
    roster: Annotated[list[RosterEntry], Field(min_length=FEWEST_MEMBERS, max_length=MOST_MEMBERS)]
    agenda: Annotated[list[Agenda], Field(min_length=1, max_length=len(AGENDA_ORDER))]
    terms: Annotated[list[Name], Field(max_length=MOST_TERMS)] = Field(default_factory=list)
    issues: dict[Name, Issue] = Field(default_factory=dict, max_length=50)
    authority: Authority = Field(default_factory=Authority)
    events: dict[Name, EventRule] = Field(default_factory=dict, max_length=500)
    powers: dict[Name, list[Name]] = Field(default_factory=dict)
    promises: Annotated[list[CommitmentTerms], Field(max_length=500)] = Field(default_factory=list)
    rules: Rules = Field(default_factory=Rules)
    status_quo: Option | None = None
    rehearsal: Rehearsal | None = None
    nonce: Hex

    @model_validator(mode="after")
    def _consistent(self) -> "RoomOpen":
        members = [entry.name for entry in self.roster]
        known = set(members)
        if len(known) < len(members):
            raise ValueError("roster: two members have the same name")
        if len({entry.key for entry in self.roster}) < len(members):
            raise ValueError("roster: two members have the same key")
        if len(set(self.agenda)) < len(self.agenda):
            raise ValueError("agenda: an item stands twice")
        if list(self.agenda) != [item for item in AGENDA_ORDER if item in self.agenda]:
            raise ValueError(f"agenda: the order is {', '.join(AGENDA_ORDER)}")
        if len({TASK, *self.terms}) <= len(self.terms):
            raise ValueError(f"terms: a term stands twice ({TASK!r} is always the first)")
        for name, issue in self.issues.items():
            if len({str(value) for value in issue.values}) < len(issue.values):
                raise ValueError(f"issues.{name}: two values have the same text")
        for issue_name, member in self.authority.issues.items():
            if issue_name not in self.issues:
                raise ValueError(f"authority.issues: {issue_name!r} is no issue of this room")
            if member not in known:
                raise ValueError(f"authority.issues.{issue_name}: {member!r} is no member")
        for term, member in self.authority.terms.items():
            if term not in {TASK, *self.terms}:
                raise ValueError(f"authority.terms: {term!r} is no term of this room")
            if member not in known:
                raise ValueError(f"authority.terms.{term}: {member!r} is no member")
        for what, scope in self.scopes().items():
            names.check_apart(what, scope)
        return self

    def scopes(self) -> dict[str, list[str]]:
        """Return the names in the opening by what they name: no two names in one list may look alike.

        Attributes are one more scope; they are in conditions, which the room reads.
        """
        promised = [*self.promises, *(self.status_quo.commitments if self.status_quo is not None else ())]
        return {
            "roster": [entry.name for entry in self.roster],
            "terms": [TASK, *self.terms],
            "issues": list(self.issues),
            "events": [AGREED, *self.events],
            "promises": [terms.id for terms in promised],
        }


def room_name(slug: str, author: str, body: dict[str, Any]) -> str:
    """Return a room's full name: the slug and 26 base32 characters of its opening's digest."""
    number = int(digest({"author": author, "body": body}), 16) >> (256 - 26 * 5)
    alphabet = "abcdefghijklmnopqrstuvwxyz234567"
    return slug + "-" + "".join(alphabet[(number >> (5 * i)) & 31] for i in range(25, -1, -1))


class Manifest(Message):
    """What a member says it is: the kind of mind, its model, and a digest of its instructions and tools."""

    agent: Line
    model: Line | None = None
    digest: Hex | None = None


class Join(Message):
    """The signature under the opening with this id."""

    kind: Literal["room.join"] = "room.join"
    step: StepId
    opening: Hex
    manifest: Manifest
    nominates: list[Name] = Field(default_factory=list, max_length=MOST_NOMINATIONS)


class Decline(Message):
    """A refusal of the opening, with the reason."""

    kind: Literal["room.decline"] = "room.decline"
    step: StepId
    because: Words


class Excuse(Message):
    """The member will not answer this step, with the reason."""

    kind: Literal["room.excuse"] = "room.excuse"
    step: StepId
    because: Words


class Leave(Message):
    """The member leaves the room; before agreement this counts as declining."""

    kind: Literal["room.leave"] = "room.leave"
    because: Words


class Tick(Message):
    """A record that lets log time move past a deadline when nobody else speaks."""

    kind: Literal["room.tick"] = "room.tick"


class Close(Message):
    """The signature under how the room's agenda ended."""

    kind: Literal["room.close"] = "room.close"
    step: StepId
    digest: Hex


class Witness(Message):
    """A signature that covers, by its ``seen``, every member's signature under the end."""

    kind: Literal["room.witness"] = "room.witness"
    step: StepId


class Seal(Message):
    """A commitment to a hidden answer; ``box`` holds it, encrypted to its own author."""

    kind: Literal["seal"] = "seal"
    step: StepId
    digest: Hex
    box: Base64Url


class Reveal(Message):
    """The opening of a seal. ``content`` is digested as received, before any model reads it."""

    kind: Literal["reveal"] = "reveal"
    step: StepId
    nonce: Hex
    content: dict[str, Any]


def seal_digest(room: str, key: str, step: str, nonce: str, content: dict[str, Any]) -> str:
    """Return the digest of a sealed answer by the member with public key *key*; *step* is the sealing step."""
    return digest({"room": room, "author": key, "step": step, "nonce": nonce, "content": content})
