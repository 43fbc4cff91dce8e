"""Members that know only their own points and what the Concord reveals find the deal that is best for the worst-off."""

import sys
from pathlib import Path

import pytest

from swarm.run import run

sys.path.insert(0, str(Path(__file__).parent))
from games import DATA, public_game, seeded_game  # noqa: E402

NEEDS_DATA = pytest.mark.skipif(not DATA.is_dir(), reason=f"the public games are not at {DATA}")


@NEEDS_DATA
@pytest.mark.parametrize(("name", "best"), [("base", 51), ("game1", 62)])
def test_public_games_end_at_the_best_acceptable_deal(name: str, best: int) -> None:
    """Protects the claim on games that others published, with the deal that stood first as status quo."""
    game = public_game(name)
    assert game.best_minimum() == best
    result = run(game.scenario(20), memory=True)
    assert result.outcome == "agreed"
    assert result.decision is not None
    assert min(result.decision["vector"]) == best
    assert result.decision["improvements"] <= 20


def test_a_hundred_seeded_games_come_within_a_point_of_the_best() -> None:
    """Protects the learning itself: whole rooms, on average within one point of the best acceptable deal."""
    short = []
    for seed in range(100):
        game = seeded_game(seed)
        best = game.best_minimum()
        assert best is not None
        result = run(game.scenario(30), memory=True)
        reached = min(result.decision["vector"]) if result.decision is not None else 0
        short.append(best - reached)
    assert sum(short) / len(short) <= 1, sorted(short)
