"""How long to wait before a try is repeated."""

import random


class Backoff:
    """Pauses that double from *first_s* to *most_s* seconds, each shortened at random by up to half.

    The randomness keeps clients that failed together from retrying together.
    """

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_s, self._most_s = first_s, most_s
        self._next_s = first_s

    def pause_s(self) -> float:
        """Return how long to wait, in seconds, before the next try."""
        now_s, self._next_s = self._next_s, min(2 * self._next_s, self._most_s)
        return now_s * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Start with the first pause again, after something has worked."""
        self._next_s = self._first_s
