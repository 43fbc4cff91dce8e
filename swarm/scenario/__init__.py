"""A scenario or an agent file as models, and the minds that it names."""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.scenario.scenario import MOST_VALUES, Scenario, read_scenario

__all__ = [
    "MOST_VALUES",
    "Scenario",
    "read_scenario",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "MOST_VALUES": "swarm.scenario.scenario",
        "Scenario": "swarm.scenario.scenario",
        "read_scenario": "swarm.scenario.scenario",
    },
)
