"""The storm that is shipped for authors of agents: any scenario, the same faults for one seed, a sound ledger."""

from pathlib import Path

import pytest

from swarm import audit
from swarm.testing import Storm, without_waiting

LUNCH = {
    "room": "lunch",
    "intent": "Where do we have lunch?",
    "agenda": ["concord"],
    "members": [
        {"name": "ann", "proposes": {"title": "soup"}, "scores": {"soup": 90, "bread": 20}, "ratifies": True},
        {"name": "ben", "proposes": {"title": "bread"}, "scores": {"soup": 60, "bread": 80}, "ratifies": True},
    ],
}


@pytest.mark.real_time
@pytest.mark.parametrize("seed", range(4))
def test_a_users_scenario_meets_the_same_faults_for_one_seed_and_its_ledger_holds(tmp_path: Path, seed: int) -> None:
    """Protects who relies on it: a seed gives the same kills, and no storm makes a ledger that fails."""
    one, two = (without_waiting(Storm(seed, tmp_path, scenario=LUNCH).run()) for _ in range(2))
    assert one.over and two.over
    assert (one.kills, one.doubles, one.keys) == (two.kills, two.doubles, two.keys)
    assert two.ledger is not None
    assert audit(two.ledger, roster=two.keys).verdict != "failed"
