"""The room that is attacked, and who sits in it."""

from typing import Any

from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from tests.support.hand_made import Siege
from tests.support.lying_logs import scenario

AUTHOR_CAP = 300
"""How many records one author may write in one room on these servers; a flood is over sooner."""


def room(**rules: Any) -> dict[str, Any]:
    """The room that is attacked: its steps are as short as may be, since some attacks end in silence."""
    return scenario(*Siege.NAMES, **{"step_seconds": 2, **rules})


def agent_of(name: str) -> Any:
    """Return the honest mind of *name*."""
    return make_agent(agent_config(next(m for m in read_scenario(room()).members if m.name == name)))
