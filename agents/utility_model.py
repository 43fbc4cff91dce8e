"""The numbers behind a `utility` member: its own points, and what it has learnt of the others' points.

A member with additive values gives an offer the sum of its points for the offer's values. It assumes the same of the
others and estimates their points from the scores that they revealed: ridge regression around each member's mean, which
is the posterior mean under independent normal priors. It then proposes the offer that would lift the standing option
furthest in the Concord's own order (fewest objections, then leximin) if everyone liked it as much as the evidence still
allows: one posterior standard deviation above the estimate. This optimism makes a proposal worth its try: either it is
right, or it teaches where it was wrong (upper confidence bounds; Auer 2002).

Everything is a deterministic function of the member's own table and the revealed scores. Points are integers that sum
to at most 100, so they are Concord scores as they stand. Floats exist only inside the estimates, which decide what to
propose and never what is selected.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

Offer = tuple[str, ...]
"""One value for each issue, in the order of the issues; a value is named by its text."""

RIDGE: Final = 0.05
"""λ: variance of the noise divided by that of the prior. It is small, because honest scores are exact."""
PRIOR_POINTS: Final = 10.0
"""Prior standard deviation of a value's points."""
MOST_ENUMERATED: Final = 200_000
"""Offers that are scored one by one; beyond that number, only neighbours of the offers seen so far are searched."""
_SEARCH_WORK: Final = 60_000_000
"""Array look-ups of one such search (offers × issues²): about a second, because a proposal has a deadline."""

_Floats = NDArray[np.float64]
_Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the revealed table: an offer (``None`` if it has no values, such as a bare status quo) and its scores.

    A score of ``None`` is a rejection.
    """

    offer: Offer | None
    scores: Mapping[str, int | None]


class UtilityModel:
    """One member's own points and its view of the others.

    ``issues`` gives each issue's values; for an issue under another's authority, only the quoted ones. ``own`` gives
    this member's points by issue and value; a missing value is worth nothing. ``reserve`` is the score below which it
    would rather have no deal.
    """

    def __init__(
        self,
        issues: Mapping[str, Sequence[str]],
        own: Mapping[str, Mapping[str, int]],
        reserve: int | None,
        members: Sequence[str],
        me: str,
    ) -> None:
        self.issues = {issue: tuple(values) for issue, values in issues.items()}
        self.reserve = reserve
        self.me = me
        self.others = tuple(sorted(member for member in members if member != me))
        self._own = {issue: own.get(issue, {}) for issue in self.issues}
        self._values = list(self.issues.values())
        self._place = [{value: place for place, value in enumerate(values)} for values in self._values]
        widths = [len(values) for values in self._values]
        self._first_column = np.concatenate([[0], np.cumsum(widths)])[:-1].astype(np.int64)
        self._columns = sum(widths)
        self._count = prod(widths)
        self._own_points = [np.array([self._own[i].get(v, 0) for v in vs]) for i, vs in self.issues.items()]

    def offer(self, values: Mapping[str, str]) -> Offer:
        """Return *values* as an offer; a missing issue takes its first value."""
        return tuple(values.get(issue, allowed[0]) for issue, allowed in self.issues.items())

    def values(self, offer: Offer) -> dict[str, str]:
        """Return *offer* as a mapping from issue to value."""
        return dict(zip(self.issues, offer, strict=True))

    def score(self, offer: Offer) -> int:
        """Return this member's own score of *offer*, in points."""
        return sum(self._own[issue].get(value, 0) for issue, value in zip(self.issues, offer, strict=True))

    def first_proposal(self) -> Offer:
        """Return the offer that is best for this member; between equals, the one with the earlier values.

        To open with its own best offer tells the others most about its points. Together, such openings are spread over
        the offers, so that fewer tries are needed afterwards than after cautious ones.
        """
        return tuple(
            values[int(points.argmax())] for values, points in zip(self._values, self._own_points, strict=True)
        )

    def improve(
        self,
        rows: Sequence[Row],
        standing: int,
        reserves: Mapping[str, int | None],
        floor: int = 0,
        tried: Collection[Offer] = (),
    ) -> Offer | None:
        """Return the offer predicted to lift the standing option most, or ``None`` to pass.

        ``rows`` is the table revealed so far, ``standing`` the place of the standing option in it, and ``reserves`` the
        opened reserves of the others. Offers in ``rows`` or ``tried`` are not proposed again. The offer is better for
        this member than the standing one; while the standing one has objections, an offer at this member's reserve will
        do, because no deal is worse.
        """
        if not self._values:
            return None
        seen = [(row, at) for row in rows if row.offer is not None and (at := self._places(row.offer)) is not None]
        excluded = {places for _, places in seen}
        excluded.update(places for offer in tried if (places := self._places(offer)) is not None)
        limits = {**reserves, self.me: self.reserve}
        search = _Search(
            self, _estimates(self, [row for row, _ in seen], [p for _, p in seen]), limits, floor, excluded
        )

        now = rows[standing].scores
        objections, vector = search.actual(now)
        own_now = now.get(self.me) or 0
        least = (self.reserve or 0) if objections else own_now + 1
        found = search.best(sorted(places for _, places in seen), least)
        if found is None or found.key <= (-objections, vector):
            return None
        return tuple(values[place] for values, place in zip(self._values, found.places, strict=True))

    def _places(self, offer: Offer) -> tuple[int, ...] | None:
        places = [known.get(value) for known, value in zip(self._place, offer, strict=True)]
        return None if None in places else tuple(place for place in places if place is not None)

    def _all_places(self) -> _Places:
        shape = [len(values) for values in self._values]
        return np.stack(np.unravel_index(np.arange(self._count), shape), axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """What is believed of one other member: mean score, points above it by column, and the posterior's shape."""

    mean: float
    points: _Floats
    shape: _Floats


def _estimates(model: UtilityModel, rows: Sequence[Row], places: Sequence[tuple[int, ...]]) -> dict[str, _Estimate]:
    estimates = {}
    shapes: dict[tuple[int, ...], tuple[_Floats, _Floats]] = {}
    for member in model.others:
        scored = tuple(index for index, row in enumerate(rows) if row.scores.get(member) is not None)
        if scored not in shapes:
            shapes[scored] = _regress(model, [places[index] for index in scored])
        design, shape = shapes[scored]
        scores = np.array([rows[index].scores[member] for index in scored], dtype=np.float64)
        mean = float(scores.mean()) if scored else 50.0
        estimates[member] = _Estimate(mean, shape @ (design.T @ (scores - mean)), shape)
    return estimates


def _regress(model: UtilityModel, places: Sequence[tuple[int, ...]]) -> tuple[_Floats, _Floats]:
    """Return the design matrix (one row for each offer, one column for each value) and (XᵀX + λI)⁻¹."""
    design = np.zeros((len(places), model._columns))
    for row, offer in enumerate(places):
        design[row, model._first_column + np.array(offer, dtype=np.int64)] = 1.0
    shape: _Floats = np.linalg.inv(design.T @ design + RIDGE * np.eye(model._columns)).astype(np.float64)
    return design, shape


@dataclass(frozen=True, slots=True)
class _Found:
    key: tuple[int, list[int]]
    own: int
    places: tuple[int, ...]


def _changed(places: tuple[int, ...], changes: Iterable[tuple[tuple[int, int], ...]]) -> Iterator[tuple[int, ...]]:
    for change in changes:
        near = list(places)
        for issue, place in change:
            near[issue] = place
        yield tuple(near)


class _Search:
    """Judges offers by how everyone would score them, according to the estimates."""

    def __init__(
        self,
        model: UtilityModel,
        estimates: Mapping[str, _Estimate],
        reserves: Mapping[str, int | None],
        floor: int,
        excluded: Collection[tuple[int, ...]],
    ) -> None:
        self._model = model
        self._estimates = estimates
        self._reserves = reserves
        self._floor = floor
        self._excluded = excluded

    def actual(self, scores: Mapping[str, int | None]) -> tuple[int, list[int]]:
        """Return the objections and the vector for scores that were actually given."""
        objections, vector = 0, []
        for member in (self._model.me, *self._model.others):
            score = scores.get(member)
            objections += score is None or score < (self._reserves.get(member) or 0)
            vector.append(max(self._floor, score or 0))
        return objections, sorted(vector)

    def best(self, starts: Sequence[tuple[int, ...]], least: int) -> _Found | None:
        """Return the offer with the best prediction among those worth at least *least* to this member."""
        if self._model._count <= MOST_ENUMERATED:
            return self._best_of(self._model._all_places(), least)
        best, frontier = None, {tuple(int(points.argmax()) for points in self._model._own_points), *starts}
        work = _SEARCH_WORK
        while work > 0:
            changes = self._changes(len(frontier), work)
            nearby = np.array(sorted({near for at in frontier for near in _changed(at, changes)}), dtype=np.int64)
            work -= nearby.size * len(self._model._values)
            found = self._best_of(nearby, least)
            if found is None or (best is not None and (found.key, found.own) <= (best.key, best.own)):
                break
            best, frontier = found, {found.places}
        return best

    def _changes(self, starts: int, work: int) -> list[tuple[tuple[int, int], ...]]:
        """Return the changes to try on each of *starts*: of one issue, and of two issues if the work allows it."""
        widths = [len(values) for values in self._model._values]
        single = [(issue, place) for issue, width in enumerate(widths) for place in range(width)]
        pairs = list(combinations(single, 2))
        affordable = starts * len(pairs) * len(widths) ** 2 <= work // 4
        return [*((change,) for change in single), *(pairs if affordable else ())]

    def _best_of(self, places: _Places, least: int) -> _Found | None:
        model = self._model
        own = sum((points[places[:, i]] for i, points in enumerate(model._own_points)), np.zeros(len(places), np.int64))
        allowed = np.flatnonzero(own >= least)
        places, own = places[allowed], own[allowed]
        if self._excluded:
            fresh = np.array([tuple(offer) not in self._excluded for offer in places.tolist()], dtype=bool)
            places, own = places[fresh], own[fresh]
        if not len(places):
            return None
        predicted = np.column_stack([own, *self._predictions(places)])
        limits = [self._reserves.get(member) or 0 for member in (model.me, *self._estimates)]
        objections = (predicted < np.array(limits)).sum(axis=1)
        vectors = np.sort(np.maximum(predicted, self._floor), axis=1)

        left = np.flatnonzero(objections == objections.min())
        for column in (*vectors.T, own):
            left = left[column[left] == column[left].max()]
        chosen = int(left[0])
        key = (-int(objections[chosen]), [int(points) for points in vectors[chosen]])
        return _Found(key, int(own[chosen]), tuple(int(place) for place in places[chosen]))

    def _predictions(self, places: _Places) -> Iterator[_Places]:
        """Yield each other member's scores, as good as the evidence allows: estimate plus one posterior deviation."""
        columns = (self._model._first_column + places).T
        spreads: dict[int, _Floats] = {}  # members who scored the same offers share their posterior's shape
        for estimate in self._estimates.values():
            shape = estimate.shape
            if id(shape) not in spreads:
                variance = np.zeros(len(places))
                for one in columns:
                    for other in columns:
                        variance += shape[one, other]
                spreads[id(shape)] = PRIOR_POINTS * np.sqrt(RIDGE * np.maximum(variance, 0.0))
            mean = estimate.mean + sum((estimate.points[column] for column in columns), np.zeros(len(places)))
            yield np.rint(np.clip(mean + spreads[id(shape)], 0, 100)).astype(np.int64)
