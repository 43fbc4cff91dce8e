"""Sentences with the entries on which they rest, and how they name options, members and positions on the log."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from protocols.concord.machine import Concord
from protocols.concord.selection import Selection
from protocols.concord.steps import ballot
from protocols.room.room import Room
from protocols.stage.table import reveal_of
from swarm.ledger.fold import Fold
from swarm.reasons.counterfactual import Choice, Rise
from swarm.text import shortened, visible

MOST_NAMED: Final = 6
"""How many names one enumeration contains; the others are counted."""
MOST_LISTED: Final = 8
"""How many sentences of one sort are shown, although a room could give hundreds; the others are counted."""
WIDEST_TITLE, WIDEST_WORDS = 60, 160


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence, and the positions of the entries on which it rests, ascending.

    ``text`` can be shown as it is, on one line: members' texts in it are made visible, cut, and in “quotes” that they
    cannot close. In HTML it must still be escaped, like any text.
    """

    text: str
    positions: tuple[int, ...] = ()

    def cited(self) -> str:
        """Return the sentence followed by the entries on which it rests, as in ``… [3, 7-9]``."""
        spans: list[list[int]] = []
        for position in self.positions:
            if spans and position == spans[-1][1] + 1:
                spans[-1][1] = position
            else:
                spans.append([position, position])
        shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
        return f"{self.text}  [{shown}]" if shown else self.text

    def plain(self) -> dict[str, Any]:
        """Return the reason as JSON."""
        return {"text": self.text, "positions": list(self.positions)}


def room_of(what: Fold | Room) -> Room:
    """Return the room of a fold, or the room itself."""
    return what.room if isinstance(what, Fold) else what


def find_options(concord: Concord, name: str) -> list[str]:
    """Return the ids of the options whose id or title is *name*, in the order of proposal."""
    return [c.id for c in concord.candidates.values() if name in (c.id, c.option.title)]


def said(text: str, width: int = WIDEST_WORDS) -> str:
    """Return a member's text in quotes that it cannot close."""
    return f"“{shortened(text, width).replace('“', chr(34)).replace('”', chr(34))}”"


def title_of(concord: Concord, option: str) -> str:
    """Return an option's title, quoted."""
    return said(concord.candidates[option].option.title, WIDEST_TITLE)


def names_of(names: Iterable[str], how: str = "and") -> str:
    """Return members' names as ``a, b and c``; if there are many, the first ones and how many more."""
    shown = [visible(name) for name in names]
    if len(shown) > MOST_NAMED:
        shown = [*shown[: MOST_NAMED - 1], f"{len(shown) - MOST_NAMED + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {how} {shown[-1]}"


def count(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def places(positions: Iterable[int]) -> tuple[int, ...]:
    """Return positions ascending, each once, without 0, which is not a record."""
    return tuple(sorted({position for position in positions if position > 0}))


# -- where things stand in the log -----------------------------------------------------------------------------------


def answers_to(room: Room, step: str) -> dict[str, int]:
    """Return the position of each member's answer to *step*."""
    if room.step is not None and room.step.id == step:
        return room.step.answers
    return room.closed[step].answers if step in room.closed else {}


def ballots_on(room: Room, option: str, members: Iterable[str] | None = None) -> tuple[int, ...]:
    """Return the positions of the ballots that score *option*: of all members, or of *members*."""
    assert room.concord is not None
    number = next((each.number + 1 for each in room.concord.tries if each.option == option), 1)
    answers = answers_to(room, reveal_of(ballot(number)))
    return places(answers.values() if members is None else (answers.get(member, 0) for member in members))


# -- sentences that several questions share -----------------------------------------------------------------------


def size_of(rise: Rise) -> tuple[int, str, str]:
    """Return the sort key that puts the smallest rise first."""
    return rise.to if rise.score is None else rise.to - rise.score, rise.option, rise.member


def rise_told(room: Room, choice: Choice, rise: Rise) -> Reason:
    """Say which score would have made an option win."""
    instead = "instead of rejecting it" if rise.score is None else f"instead of {rise.score}"
    would = "it would have been accepted" if rise.option == choice.standing else "it would have won"
    return Reason(
        f"Had {visible(rise.member)} scored {title_of(choice.concord, rise.option)} {or_more(rise.to)} {instead}, "
        f"{would}.",
        ballots_on(room, rise.option, [rise.member]),
    )


def or_more(points: int) -> str:
    """Return a score and everything above it, in words."""
    return "100" if points == 100 else f"{points} or more"


def or_less(points: int) -> str:
    """Return a score and everything below it, in words."""
    return "0" if points == 0 else f"{points} or less"


def came_to(choice: Choice, selection: Selection) -> str:
    """Say what a changed selection comes to."""
    if selection.winner is not None:
        return f"{title_of(choice.concord, selection.winner)} would have won"
    return "no option would have been accepted"


def is_same(choice: Choice, selection: Selection) -> bool:
    """Tell whether a changed selection comes to what the whole table came to."""
    return (selection.outcome, selection.standing) == (choice.selection.outcome, choice.selection.standing)


def left_out(room: Room, choice: Choice, member: str, selection: Selection) -> Reason:
    """Say what *selection*, made without the ballot of *member*, comes to."""
    came = "the outcome is the same" if is_same(choice, selection) else came_to(choice, selection)
    return Reason(f"Without the ballot of {visible(member)}, {came}.", ballots_on(room, choice.standing, [member]))


def lacked(room: Room, choice: Choice, option: str) -> Reason:
    """Say what *option* would have needed from all that gave it too little, if no single score was enough."""
    concord, level = choice.concord, choice.level(option)
    if level is None:
        return Reason(f"No scores of {title_of(concord, option)} would have made it win.", ballots_on(room, option))
    under = {m: score for m, score in choice.scores(option).items() if score is None or score < level}
    whose = ["from each of them"] if len(under) > MOST_NAMED else []
    whose = whose or [f"from {visible(m)} ({'a rejection' if s is None else s})" for m, s in under.items()]
    return Reason(
        f"No single score would have made {title_of(concord, option)} win: it needed {or_more(level)} "
        f"{' and '.join(whose)}{f', {len(under)} members' if len(under) > MOST_NAMED else ''}.",
        ballots_on(room, option, under),
    )
