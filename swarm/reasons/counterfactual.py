"""What one change to the table of scores would have made of a choice: recomputed by the rules, never estimated.

Every answer is the selection of `protocols.concord.selection` over the final options, with exactly one thing changed.
Nobody can say how members would have scored or improved an option that did not exist, so that is not asked. A changed
score moves no other option in the order, so most answers need a comparison of two places, not of a table.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from protocols.concord.machine import Concord
from protocols.concord.selection import (
    HIGHEST,
    LOWEST,
    Ballot,
    OrderKey,
    Selection,
    SelectionRules,
    order_key,
    select,
)
from protocols.views.patterns import without_ballot

Scores = Mapping[str, int | None]
"""The scores that members gave one option; None is a rejection."""


class Rise(NamedTuple):
    """The lowest score with which *member* alone would have made *option* win.

    ``to`` is that score; ``score`` is what the member gave, and None means that it rejected.
    """

    option: str
    member: str
    score: int | None
    to: int


class Fall(NamedTuple):
    """The highest score with which *member* alone would have kept the winner from winning.

    ``to`` is that score; ``score`` is what the member gave.
    """

    member: str
    score: int
    to: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The final table of a Concord that reached a selection, ready to be recomputed with one thing changed.

    ``standing`` is the first in the order (the winner, if the selection is accepted), ``second`` the next.
    """

    concord: Concord
    options: tuple[str, ...]
    ballots: Mapping[str, Ballot]
    rules: SelectionRules
    incumbent: str | None
    selection: Selection
    standing: str
    second: str | None

    @classmethod
    def of(cls, concord: Concord | None) -> "Choice | None":
        """Return the choice of *concord*; None if no selection among options was reached."""
        if concord is None or concord.selection is None or concord.selection.standing is None:
            return None
        limits, selection = concord.setting.opening.rules, concord.selection
        rules = SelectionRules(bar=limits.bar, floor=limits.floor, rejects=limits.rejects)
        options = [c.id for c in concord.candidates.values() if c.scored]
        incumbent = concord.standing if concord.tries else concord.status_quo
        rest = [option for option in options if option != selection.standing]
        members, others = concord.setting.members, concord.table.ballots(rest)
        tie = incumbent if incumbent in rest else None
        second = select(members, rest, others, rules, tie, concord.beacon).standing if rest else None
        ballots, standing = concord.table.ballots(options), concord.selection.standing
        return cls(concord, tuple(options), ballots, rules, incumbent, selection, standing, second)

    def select(self, ballots: Mapping[str, Ballot]) -> Selection:
        """Select by the room's rules on *ballots* over the same options."""
        members = self.concord.setting.members
        return select(members, self.options, ballots, self.rules, self.incumbent, self.concord.beacon)

    def scores(self, option: str) -> dict[str, int | None]:
        """Return what members gave *option*, in the order of the roster."""
        return {m: self.ballots[m].scores.get(option) for m in self.concord.setting.members if m in self.ballots}

    def without(self, member: str) -> Selection:
        """Return the selection without *member*."""
        return without_ballot(self.concord, member)

    def with_scores(self, option: str, scores: Scores) -> Selection:
        """Return the selection if members had given *option* those *scores*; a rejection stays what it was."""
        given = {member: score for member, score in scores.items() if score is not None}
        return self.select(
            {m: _changed(ballot, option, given[m]) if m in given else ballot for m, ballot in self.ballots.items()}
        )

    # -- more for another option ----------------------------------------------------------------------------------

    def rise(self, member: str, option: str) -> Rise | None:
        """Return the lowest score above *member*'s own with which *option* would have won; None if no score is enough.

        A higher score never hurts an option in the order, so if one score is enough, every higher one is.
        """
        given = self.scores(option)
        score = given[member]
        to = self._wins_from(option, LOWEST if score is None else score + 1, lambda points: {**given, member: points})
        return None if to is None else Rise(option, member, score, to)

    def rises(self, option: str) -> Iterator[Rise]:
        """Yield, for each member whose score alone could have made *option* win, the score that was needed."""
        for member in self.scores(option):
            rise = self.rise(member, option)
            if rise is not None:
                yield rise

    def level(self, option: str) -> int | None:
        """Return the lowest score that would have made *option* win in place of lower scores and rejections."""
        given = self.scores(option)
        return self._wins_from(
            option, LOWEST, lambda points: {m: max(points, score or 0) for m, score in given.items()}
        )

    def _wins_from(self, option: str, first: int, scores: Callable[[int], Scores]) -> int | None:
        """Return the first points from *first* on with whose *scores* *option* would be the winner."""
        if self.selection.winner == option:
            return None
        rival = None if option == self.standing else self._key(self.standing, self.scores(self.standing))

        def is_ahead(points: int) -> bool:
            key = self._key(option, scores(points))
            return self._is_eligible(key) and (rival is None or key.better_than(rival))

        ahead = _first(first, HIGHEST, is_ahead)
        # If it equals the first in every place, the incumbent or the lot decides, which only a selection can tell.
        level = _first(first, HIGHEST, lambda points: not self._is_behind(option, scores(points), rival))
        if level is not None and level != ahead and self.with_scores(option, scores(level)).winner == option:
            return level
        return ahead

    def _is_behind(self, option: str, scores: Scores, rival: OrderKey | None) -> bool:
        key = self._key(option, scores)
        return not self._is_eligible(key) or (rival is not None and rival.better_than(key))

    # -- less for the winner --------------------------------------------------------------------------------------

    def fall(self, member: str) -> Fall | None:
        """Return the highest score, below the one *member* gave the winner, that would have kept it from winning."""
        winner = self.selection.winner
        if winner is None:
            return None
        given = self.scores(winner)
        score = given[member]
        assert score is not None
        rival = None if self.second is None else self._key(self.second, self.scores(self.second))

        def is_lost(less: int) -> bool:
            return self._is_behind(winner, {**given, member: score - less}, rival)

        def is_level(less: int) -> bool:
            key = self._key(winner, {**given, member: score - less})
            return is_lost(less) or (rival is not None and not key.better_than(rival))

        lost, level = _first(1, score, is_lost), _first(1, score, is_level)
        if level is not None and level != lost:
            changed = self.with_scores(winner, {**given, member: score - level})
            lost = level if changed.winner != winner else lost
        return None if lost is None else Fall(member, score, score - lost)

    def after(self, fall: Fall) -> Selection:
        """Return the selection after *fall*."""
        assert self.selection.winner is not None
        return self.with_scores(self.selection.winner, {fall.member: fall.to})

    # -- places in the order --------------------------------------------------------------------------------------

    def _key(self, option: str, scores: Scores) -> OrderKey:
        ballots = (
            Ballot({} if score is None else {option: score}, {}, self.ballots[member].reserve)
            for member, score in scores.items()
        )
        return order_key(option, ballots, self.rules.floor)

    def _is_eligible(self, key: OrderKey) -> bool:
        return not key.objections and key.vector[0] >= self.rules.bar


def _changed(ballot: Ballot, option: str, score: int) -> Ballot:
    rejects = {o: why for o, why in ballot.rejects.items() if o != option}
    return Ballot({**ballot.scores, option: score}, rejects, ballot.reserve)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Return the first of *low* to *high* for which *holds*, which then holds for all after it too; or None."""
    if low > high or not holds(high):
        return None
    return low + bisect_left(range(low, high + 1), True, key=holds)
