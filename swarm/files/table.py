"""`swarm decide`: the Concord selection alone, on a table of scores that a person wrote."""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from protocols.concord.selection import HIGHEST, LOWEST, Ballot, Selection, SelectionRules, select
from protocols.core.message import Message, Name, Title
from swarm.files.document import Document, Source, UnheldNumber, load, validate
from swarm.files.scalars import quote

DecideResult = Selection
"""What `decide` returns: the selection itself, with the fields of the contract; ``plain()`` is its JSON."""

Points = Annotated[int, Field(ge=LOWEST, le=HIGHEST)]

# A score or reason may be anything here: the selection's own rules, not the file, make a wrong one void its ballot.
Score = Annotated[Any, WithJsonSchema({"type": "integer", "minimum": LOWEST, "maximum": HIGHEST})]
Reason = Annotated[Any, WithJsonSchema({"type": "string", "minLength": 1})]


class TableBallot(Message):
    """One member's ballot; ``reserve`` is the score below which it would rather have no deal."""

    scores: dict[str, Score] = Field(default_factory=dict)
    rejects: dict[str, Reason] = Field(default_factory=dict)
    reserve: Points | None = None


class TableRules(Message):
    """How the table is decided; ``rejects`` is how many rejections one ballot may contain."""

    quorum: Literal["all"] | Annotated[int, Field(ge=1)] = "all"
    bar: Points = 50
    floor: Points = 0
    rejects: Annotated[int, Field(ge=0)] = 1


class Table(Message):
    """A table of scores: the file of `swarm decide`."""

    members: Annotated[list[Name], Field(min_length=1)]
    options: list[Title]
    ballots: dict[str, TableBallot] = Field(default_factory=dict)
    rules: TableRules = TableRules()
    incumbent: Title | None = None
    beacon: str = ""


def read_table(document: Document) -> Table:
    """Return the table in *document*, or raise `BadInput` if it cannot be decided."""
    table = validate(Table, document)
    for field in ("members", "options"):
        _refuse_repeated(field, getattr(table, field), document)
    for member, ballot in table.ballots.items():
        if member not in table.members:
            raise document.error(("ballots", member), f"not a member (members: {_listed(table.members)})")
        for option, reason in ballot.rejects.items():
            if isinstance(reason, UnheldNumber):
                raise document.error(
                    ("ballots", member, "rejects", option), f"expected a reason in words, not {reason}"
                )
    if table.incumbent is not None and table.incumbent not in table.options:
        raise document.error(("incumbent",), f"not an option (options: {_listed(table.options)})")
    if table.rules.quorum != "all" and table.rules.quorum > len(table.members):
        raise document.error(
            ("rules", "quorum"), f"must be all or from 1 to {len(table.members)}, the number of members"
        )
    return table


def decide(source: Source) -> DecideResult:
    """Say which option a table of scores selects, by the rules of concord-select/1.

    Args:
        source: A table's path, or what such a file holds as plain data.

    Returns:
        The outcome and what a reader needs to check it; a ballot that breaks the rules is void and named there.

    Raises:
        BadInput: The table cannot be read.

    Example:
        >>> from swarm import decide
        >>> scores = {"A": {"scores": {"X": 90, "Y": 60}}, "B": {"scores": {"X": 20, "Y": 70}}}
        >>> decide({"members": ["A", "B"], "options": ["X", "Y"], "ballots": scores}).winner
        'Y'
    """
    table = read_table(load(source))
    rules = table.rules
    return select(
        table.members,
        table.options,
        {member: _ballot(ballot) for member, ballot in table.ballots.items()},
        SelectionRules(None if rules.quorum == "all" else rules.quorum, rules.bar, rules.floor, rules.rejects),
        table.incumbent,
        table.beacon,
    )


def _ballot(ballot: TableBallot) -> Ballot:
    return Ballot(
        {option: _score(score) for option, score in ballot.scores.items()},
        ballot.rejects,
        ballot.reserve,
    )


def _score(value: Any) -> Any:
    # An integer too long for JSON is still an integer, but out of range; its exact value does not matter.
    return HIGHEST + 1 if isinstance(value, UnheldNumber) and value.integer else value


def _refuse_repeated(field: str, names: list[str], document: Document) -> None:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            raise document.error((field, place), f"{quote(name)} stands twice among the {field}")
        seen.add(name)


def _listed(names: list[str], limit: int = 12) -> str:
    listed = ", ".join(quote(name) for name in names[:limit])
    return f"{listed}, … {len(names) - limit} more" if len(names) > limit else listed or "none"
