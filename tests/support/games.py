"""Games with additive points, and the Concord's improvement rule over them: enough of a room to see minds at work."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from agents.utility_model import Offer, Row, UtilityModel
from protocols.concord.selection import Ballot, least_satisfied, order_key, select

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "llm-deliberation"

SHAPE = (3, 3, 4, 4, 5)
"""Values per issue, as in the published games."""


@dataclass(frozen=True)
class Game:
    """What each member's values are worth to it, its reserve, and the deal on the table at the start."""

    issues: Mapping[str, Sequence[str]]
    points: Mapping[str, Mapping[str, Mapping[str, int]]]
    reserves: Mapping[str, int]
    status_quo: Offer

    def score(self, member: str, offer: Offer) -> int:
        return sum(self.points[member][issue][value] for issue, value in zip(self.issues, offer, strict=True))

    def best_acceptable_minimum(self) -> int | None:
        """Return the highest minimum among the deals that reach every reserve, by looking at each."""
        best = None
        for offer in product(*self.issues.values()):
            scores = {member: self.score(member, offer) for member in self.points}
            if all(scores[member] >= self.reserves[member] for member in scores):
                best = max(best or 0, min(scores.values()))
        return best


def published(name: str) -> Game:
    """Read one of the two published games."""
    folder = DATA / name
    tables, reserves = {}, {}
    for file in sorted((folder / "scores_files").glob("*.txt")):
        *rows, last = [line for line in file.read_text().splitlines() if line.strip()]
        tables[file.stem] = [[int(points) for points in row.split(",")] for row in rows]
        reserves[file.stem] = int(last)
    deal = (folder / "initial_deal.txt").read_text().strip().split(",")
    return _game(tables, reserves, tuple(value.strip() for value in deal))


def generated(seed: int) -> Game:
    """Make a game of the published shape: six members, 100 points each by issue and value, reserves of 30 to 65.

    Most issues are worth most at one end of their range, as prices and dates are; some in the middle. Games without
    an acceptable deal are drawn again.
    """
    dice = random.Random(seed)
    while True:
        tables = {f"p{number}": _table(dice) for number in range(6)}
        reserves = {member: dice.randint(30, 65) for member in tables}
        game = _game(tables, reserves, tuple(f"{issue}1" for issue in "ABCDE"))
        if game.best_acceptable_minimum() is not None:
            return game


def _table(dice: random.Random) -> list[list[int]]:
    cuts = sorted(dice.randint(0, 100) for _ in SHAPE[1:])
    table = []
    for width, low, high in zip(SHAPE, [0, *cuts], [*cuts, 100], strict=True):
        weight = high - low
        row = sorted([0, weight, *(dice.randint(0, weight) for _ in range(width - 2))])
        style = dice.random()
        if style < 0.4:
            row.reverse()
        elif style > 0.8:
            dice.shuffle(row)
        table.append(row)
    return table


def _game(tables: Mapping[str, Sequence[Sequence[int]]], reserves: Mapping[str, int], status_quo: Offer) -> Game:
    widths = [len(row) for row in next(iter(tables.values()))]
    issues = {issue: [f"{issue}{n + 1}" for n in range(width)] for issue, width in zip("ABCDE", widths, strict=True)}
    points = {
        member: {
            issue: dict(zip(values, row, strict=True))
            for (issue, values), row in zip(issues.items(), table, strict=True)
        }
        for member, table in tables.items()
    }
    return Game(issues, points, reserves, status_quo)


@dataclass(frozen=True)
class Ended:
    """How a game ended: the scores of the standing option, who objects to it, and the improvements tried."""

    scores: Mapping[str, int]
    acceptable: bool
    tries: int


def play(game: Game, limit: int = 40) -> Ended:
    """Let `UtilityModel` members first propose and then improve, each told only what a room would reveal to it."""
    members = sorted(game.points)
    minds = {
        member: UtilityModel(game.issues, game.points[member], game.reserves[member], members, member)
        for member in members
    }
    offers = list(dict.fromkeys([game.status_quo, *(minds[member].first_proposal() for member in members)]))

    def ballots() -> dict[str, Ballot]:
        return {
            member: Ballot({str(offer): minds[member].score(offer) for offer in offers}, {}, game.reserves[member])
            for member in members
        }

    ids = {str(offer): offer for offer in offers}
    first = select(members, list(ids), ballots(), incumbent=str(game.status_quo)).standing
    assert first is not None
    standing, tries = ids[first], 0
    tried, passed = dict.fromkeys(members, 0), set[str]()
    while tries < limit and len(passed) < len(members):
        able = [member for member in members if member not in passed]
        eager = [member for member in able if tried[member] == min(tried[other] for other in able)]
        holder = least_satisfied(str(standing), ballots(), eager) or min(eager)
        rows = [Row(offer, {member: minds[member].score(offer) for member in members}) for offer in offers]
        others = {member: reserve for member, reserve in game.reserves.items() if member != holder}
        offer = minds[holder].improve(rows, offers.index(standing), others)
        if offer is None:
            passed.add(holder)
            continue
        assert offer not in offers, "a repeated option is a pass, and a fault of the mind"
        offers.append(offer)
        tries, tried[holder] = tries + 1, tried[holder] + 1
        now = ballots().values()
        if order_key(str(offer), now).better_than(order_key(str(standing), now)):
            standing, tried, passed = offer, dict.fromkeys(members, 0), set()
    scores = {member: game.score(member, standing) for member in members}
    return Ended(scores, all(scores[member] >= game.reserves[member] for member in members), tries)
