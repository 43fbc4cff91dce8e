"""Members that know only their own points and what the Concord reveals find the deal that is best for the worst-off.

Whole rooms, every entry signed and folded; `test_utility_model` looks at the model alone.
"""

from typing import Any

import pytest

from swarm.running.running import run
from tests.support.games import DATA, Game, generated, published
from tests.support.lacking import needs

NEEDS_DATA = needs(DATA)


def scenario(game: Game, improvements: int) -> dict[str, Any]:
    """Return *game* as a room of utility members, its first deal the status quo."""
    return {
        "room": "game",
        "intent": "Settle the five issues.",
        "agenda": ["concord"],
        "issues": {issue: list(values) for issue, values in game.issues.items()},
        "status_quo": {"title": "the deal on the table", "offer": dict(zip(game.issues, game.status_quo, strict=True))},
        "rules": {"improvements": improvements, "step_seconds": 60, "bar": 1},
        "members": [
            {"name": member, "agent": "utility", "reserve": game.reserves[member], "values": points}
            for member, points in game.points.items()
        ],
    }


@NEEDS_DATA
@pytest.mark.parametrize(("name", "best"), [("base", 51), ("game1", 62)])
def test_public_games_end_at_the_best_acceptable_deal(name: str, best: int) -> None:
    """Protects the claim on games that others published, with the deal that stood first as status quo."""
    game = published(name)
    assert game.best_acceptable_minimum() == best
    result = run(scenario(game, 20), memory=True)
    assert result.outcome == "agreed"
    assert result.decision is not None
    assert min(result.decision.vector) == best
    assert result.decision.improvements <= 20


def test_a_hundred_generated_games_come_within_a_point_of_the_best() -> None:
    """Protects the learning in whole rooms: on average within one point of the best acceptable deal."""
    short = []
    for seed in range(100):
        game = generated(seed)
        best = game.best_acceptable_minimum()
        assert best is not None
        result = run(scenario(game, 20), memory=True)
        reached = min(result.decision.vector) if result.decision is not None else 0
        short.append(best - reached)
    assert sum(short) / len(short) <= 1, sorted(short)
