"""What a room has said so far, as one member's mind needs it to judge.

It contains what the log shows to everybody, and no more: while a step is sealed, nothing that others sealed in it. So a
mind needs no memory of its own, and a restarted mind knows what it knew before.
"""

from typing import Any

from pydantic import Field

from protocols.core.message import Message
from protocols.messages.accord import Interpretation
from protocols.messages.claims import Source
from protocols.messages.commitments import CommitmentTerms, EventRule
from protocols.messages.concord import Issue, Option, Value
from protocols.messages.room import Authority, Rehearsal, Rules


class SeatTaken(Message):
    """One member: its name, its role, and the kind of mind that it announced."""

    name: str
    role: str | None = None
    agent: str | None = None
    left: bool = False


class Difference(Message):
    """Two members' differing readings of one term, and its status: open, settled, carried or blocked."""

    term: str
    between: list[str]
    status: str


class OptionKnown(Message):
    """An option on the table: its proposers, its fate, and its revealed scores.

    In ``scores``, None is a rejection; ``reasons`` holds the reasons for scores and rejections.
    """

    id: str
    option: Option
    proposers: list[str]
    fate: str
    scores: dict[str, int | None]
    reasons: dict[str, str]


class ClaimKnown(Message):
    """A claim that stands.

    ``ref`` is how to cite it; ``origin`` are ids of claims, and names from whom it was heard.
    """

    ref: str
    id: str
    by: str
    text: str
    source: Source
    origin: list[str] = Field(default_factory=list)


class PromiseKnown(Message):
    """A promise as it stands: its terms with the current parties, and its state.

    ``id`` is the commitment's, or the name of one instance. ``answerable`` are earlier debtors, who remain answerable.
    ``instances`` are the states of its instances, by their names; with ``each``, more may open.
    """

    id: str
    debtor: str
    creditor: str
    antecedent: str | None = Field(default=None, alias="if")
    consequent: str = Field(alias="then")
    each: str | None = None
    excludes: list[str] = Field(default_factory=list)
    state: str
    answerable: list[str] = Field(default_factory=list)
    instances: dict[str, str] = Field(default_factory=dict)


class OwnAnswers(Message):
    """What this member said before, as far as it is open: its option's id, and its reserve once that is opened."""

    interpretations: dict[str, Interpretation] = Field(default_factory=dict)
    settled: dict[str, dict[str, Any]] = Field(default_factory=dict)
    option: str | None = None
    reserve: int | None = None
    scores: dict[str, int | None] = Field(default_factory=dict)
    promises: list[PromiseKnown] = Field(default_factory=list)
    """The promises to which the member is or was a party, those offered to it, and what these depend on."""


class Briefing(Message):
    """A room, as its log shows it to one member."""

    room: str
    intent: str
    members: list[SeatTaken]
    agenda: list[str]
    terms: list[str]
    issues: dict[str, Issue]
    authority: Authority
    events: dict[str, EventRule]
    promises: list[CommitmentTerms]
    rules: Rules
    rehearsal: Rehearsal | None = None
    meanings: dict[str, dict[str, Interpretation]] = Field(default_factory=dict)
    differences: list[Difference] = Field(default_factory=list)
    quotes: dict[str, list[Value]] = Field(default_factory=dict)
    options: list[OptionKnown] = Field(default_factory=list)
    standing: str | None = None
    claims: list[ClaimKnown] = Field(default_factory=list)
    outcome: str | None = None
    own: OwnAnswers = Field(default_factory=OwnAnswers)
