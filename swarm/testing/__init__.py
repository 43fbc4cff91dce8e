"""For people who write agents or logs: a room in bad weather within milliseconds, and the contract of the log port.

::

    from swarm.testing import Storm, without_waiting

    def test_my_agents_agree_whatever_the_network_does() -> None:
        for seed in range(100):
            outcome = without_waiting(Storm(seed, scenario="lunch.yaml").run())
            assert outcome.over and outcome.outcome == "agreed"

`Storm` seats a scenario's members over a log in memory, loses and delays what they say, kills some and starts them
again, all drawn from one seed. `without_waiting` runs it in time that does not pass by itself, so that its minutes take
milliseconds. One seed gives the same faults; nonces and jitter stay random. `swarm.testing.log_contract` has the tests
that every log must pass; it needs pytest.
"""

from typing import TYPE_CHECKING

from swarm.lazy import lazily

if TYPE_CHECKING:
    from swarm.testing.storm import Outcome, Storm
    from swarm.testing.virtual import virtual_time, without_waiting
    from swarm.testing.weather import Through, Weather

__all__ = [
    "Outcome",
    "Storm",
    "Through",
    "Weather",
    "virtual_time",
    "without_waiting",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Outcome": "swarm.testing.storm",
        "Storm": "swarm.testing.storm",
        "Through": "swarm.testing.weather",
        "Weather": "swarm.testing.weather",
        "virtual_time": "swarm.testing.virtual",
        "without_waiting": "swarm.testing.virtual",
    },
)
