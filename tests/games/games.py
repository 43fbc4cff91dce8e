"""Multi-party games with a computable best deal, as scenarios of `utility` members."""

import random
from itertools import product
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "llm-deliberation"
SHAPE = {"A": 3, "B": 3, "C": 4, "D": 4, "E": 5}


class Game:
    """Points by member, issue and choice; a reserve a member; perhaps a deal that stands at first."""

    def __init__(
        self, tables: dict[str, list[list[int]]], reserves: dict[str, int], status_quo: dict[str, str] | None = None
    ) -> None:
        self.tables = tables
        self.reserves = reserves
        self.status_quo = status_quo
        widths = [len(points) for points in next(iter(tables.values()))]
        letters = "ABCDE"
        self.issues = {letters[i]: [f"{letters[i]}{k + 1}" for k in range(width)] for i, width in enumerate(widths)}

    def deals(self) -> list[dict[str, str]]:
        """Return every deal."""
        return [dict(zip(self.issues, values, strict=True)) for values in product(*self.issues.values())]

    def score(self, member: str, deal: dict[str, str]) -> int:
        """Return a member's points for a deal."""
        return sum(self.tables[member][i][self.issues[k].index(deal[k])] for i, k in enumerate(self.issues))

    def best_minimum(self) -> int | None:
        """Return the highest lowest score among deals that are acceptable to everyone, or None if there is none."""
        minima = []
        for deal in self.deals():
            scores = {member: self.score(member, deal) for member in self.tables}
            if all(scores[member] >= self.reserves[member] for member in scores):
                minima.append(min(scores.values()))
        return max(minima, default=None)

    def scenario(self, improvements: int) -> dict[str, Any]:
        """Return the game as a scenario."""
        scenario: dict[str, Any] = {
            "room": "game",
            "intent": "Settle the five issues.",
            "agenda": ["concord"],
            "issues": self.issues,
            "rules": {"improvements": improvements, "step_seconds": 60, "bar": 1},
            "members": [
                {
                    "name": member,
                    "agent": "utility",
                    "reserve": self.reserves[member],
                    "values": {k: dict(zip(v, table[i], strict=True)) for i, (k, v) in enumerate(self.issues.items())},
                }
                for member, table in self.tables.items()
            ],
        }
        if self.status_quo is not None:
            scenario["status_quo"] = {"title": "the first deal", "offer": self.status_quo}
        return scenario


def public_game(name: str) -> Game:
    """Return one of the two public games."""
    tables, reserves = {}, {}
    for path in sorted((DATA / name / "scores_files").glob("*.txt")):
        *rows, reserve = [line for line in path.read_text().splitlines() if line.strip()]
        tables[path.stem] = [[int(points) for points in row.split(",")] for row in rows]
        reserves[path.stem] = int(reserve)
    deal = (DATA / name / "initial_deal.txt").read_text().strip().split(",")
    return Game(tables, reserves, {choice[0]: choice for choice in deal})


def seeded_game(seed: int) -> Game:
    """Return a game of the same shape: six members, five issues, 100 points at best; acceptable deals exist."""
    dice = random.Random(seed)
    while True:
        tables, reserves = {}, {}
        for number in range(6):
            cuts = sorted(dice.randint(0, 100) for _ in range(4))
            best = [high - low for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]
            table = []
            for points, width in zip(best, SHAPE.values(), strict=True):
                row = [dice.randint(0, points) for _ in range(width)]
                row[dice.randrange(width)] = points
                table.append(row)
            tables[f"m{number}"] = table
            reserves[f"m{number}"] = dice.randint(30, 60)
        game = Game(tables, reserves)
        if game.best_minimum() is not None:
            return game
