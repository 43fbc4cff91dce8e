"""Options as a room holds them: completed by quotes, checked against the opening, equal options merged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from protocols.commitments.tracker import Tracker
from protocols.core.findings import Finding
from protocols.core.names import check_apart
from protocols.duties.duties import OptionAsked
from protocols.messages.concord import Option, Quote, Value, option_id
from protocols.messages.room import RoomOpen
from protocols.stage.stage import Refused

Quotes = Mapping[str, Sequence[Value]]
"""Issue under authority → the values quoted for it, the standard one first."""


@dataclass(slots=True)
class Candidate:
    """An option in the room: its id, its text with every issue filled in, its proposer, and its position.

    ``fate`` is ``initial``, ``adopted`` or ``refused``; a refused option without everyone's score is not in the table.
    """

    id: str
    option: Option
    proposers: list[str]
    position: int
    fate: str = "initial"
    scored: bool = True
    notes: list[str] = field(default_factory=list)

    def asked(self) -> OptionAsked:
        """Return the option as duties show it."""
        return OptionAsked(id=self.id, option=self.option, proposers=list(self.proposers))


def check_quote(body: Quote, member: str, opening: RoomOpen) -> dict[str, list[Value]]:
    """Return the values that *member* quotes for each of its issues, or raise `Refused`."""
    mine = [issue for issue, owner in opening.authority.issues.items() if owner == member]
    if set(body.values) != set(mine):
        raise Refused("incomplete_quote", f"quote values for {', '.join(mine)}, and for nothing else")
    quoted = {}
    for issue, values in body.values.items():
        allowed = {str(value): value for value in opening.issues[issue].values}
        for value in values:
            if str(value) not in allowed:
                raise Refused("unknown_value", f"{issue}: {value!r} is not one of {', '.join(allowed)}")
        if len({str(value) for value in values}) < len(values):
            raise Refused("unknown_value", f"{issue}: a value stands twice")
        quoted[issue] = [allowed[str(value)] for value in values]
    return quoted


def as_listed(option: Option, opening: RoomOpen) -> Option:
    """Return *option* with each value written as the opening lists it, so that equal options have one id."""
    offer = dict(option.offer)
    for name, issue in opening.issues.items():
        if name in offer:
            offer[name] = next((value for value in issue.values if str(value) == str(offer[name])), offer[name])
    return option.model_copy(update={"offer": offer})


def open_values(opening: RoomOpen, quotes: Quotes, issue: str) -> list[Value]:
    """Return the values of *issue* that an option may use."""
    return list(quotes.get(issue, opening.issues[issue].values))


def complete(
    option: Option, author: str, opening: RoomOpen, quotes: Quotes, tracker: Tracker | None, position: int
) -> tuple[Option, str, list[Finding]]:
    """Return *option* with every issue filled in as the opening writes it, its id, and findings; or raise `Refused`."""
    offer: dict[str, Value] = {}
    for issue in opening.issues:
        owner = opening.authority.issues.get(issue)
        allowed = {str(value): value for value in open_values(opening, quotes, issue)}
        if issue not in option.offer:
            if owner is None:
                raise Refused("incomplete_option", f"the offer has no value for {issue}; valid: {', '.join(allowed)}")
            # docs/protocol/rooms.md, "Options": "an issue under authority that is left out gets the first value
            # quoted".
            offer[issue] = next(iter(allowed.values()))
            continue
        value = option.offer[issue]
        if str(value) not in allowed:
            if owner is not None and str(value) in {str(v) for v in opening.issues[issue].values}:
                raise Refused(
                    "not_yours_to_decide", f"{issue} is {owner}'s to decide; quoted were {', '.join(allowed)}"
                )
            raise Refused("unknown_value", f"{issue}: {value!r} is not one of {', '.join(allowed)}")
        offer[issue] = allowed[str(value)]
    findings = []
    for extra in option.offer:
        if extra not in opening.issues:
            # "Anything that is offered beyond the issues stays, as `unrequested`."
            offer[extra] = option.offer[extra]
            text = f"{option.title!r} offers {extra!r}, which is no issue of this room"
            findings.append(Finding("unrequested", position, author, text))
    check_commitments(option, opening, tracker)
    completed = option.model_copy(update={"offer": offer})
    return completed, option_id(completed, has_issues=bool(opening.issues)), findings


def check_commitments(option: Option, opening: RoomOpen, tracker: Tracker | None) -> None:
    """Raise `Refused` if the commitments that *option* would create are impossible."""
    if not option.commitments:
        return
    if tracker is None or "commitments" not in opening.agenda:
        raise Refused("bad_commitment", "this room's agenda has no commitments, so an option can create none")
    ids = [terms.id for terms in option.commitments]
    taken = [terms.id for terms in opening.promises]
    try:
        check_apart("commitments", [*taken, *ids])
    except ValueError as error:
        raise Refused("bad_commitment", str(error)) from None
    for terms in option.commitments:
        if ids.count(terms.id) > 1 or terms.id in taken or tracker.knows(terms.id):
            raise Refused("bad_commitment", f"two commitments have the id {terms.id!r}")
        try:
            tracker.check(terms, frozenset(ids))
        except ValueError as error:
            raise Refused("bad_commitment", f"{terms.id}: {error}") from None
    try:
        tracker.check_load(option.commitments)
    except ValueError as error:
        raise Refused("bad_commitment", str(error)) from None
