"""Pauses grow, have a longest, are never cut by more than half, and begin again after success."""

from swarm.backoff import Backoff


def test_pauses_double_up_to_the_longest_and_are_spread() -> None:
    """Protects a broker that comes back: those who failed together do not all return at one moment."""
    for _ in range(50):
        backoff = Backoff(0.1, 1.0)
        for full in (0.1, 0.2, 0.4, 0.8, 1.0, 1.0):
            assert full / 2 <= backoff.pause_s() <= full
        backoff.reset()
        assert backoff.pause_s() <= 0.1
