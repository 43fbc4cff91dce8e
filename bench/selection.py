"""Selections a second for 4 members × 4 options, and the time of one for 64 × 1,000.

Machines differ and are shared, so each figure is also given as a ratio to a floor measured in the same run: sorting
every option's scores and taking the greatest list, which no selection by leximin can do without.
"""

import random
from collections.abc import Callable
from time import perf_counter

from protocols.concord.selection import Ballot, select


def table(members: int, options: int) -> tuple[list[str], list[str], dict[str, Ballot]]:
    dice = random.Random(members * options)
    names = [f"member{number}" for number in range(members)]
    choices = [f"option{number}" for number in range(options)]
    ballots = {name: Ballot({choice: dice.randint(0, 100) for choice in choices}, {}, 30) for name in names}
    return names, choices, ballots


def seconds(call: Callable[[], object], times: int, repeats: int = 5) -> float:
    """Return the best time of one call, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(times):
            call()
        best = min(best, (perf_counter() - start) / times)
    return best


def main() -> None:
    for members, options, times in ((4, 4, 5_000), (64, 1_000, 3)):
        names, choices, ballots = table(members, options)

        def bare(choices: list[str] = choices, ballots: dict[str, Ballot] = ballots) -> list[int]:
            return max(sorted(ballot.scores[choice] for ballot in ballots.values()) for choice in choices)

        def whole(
            names: list[str] = names, choices: list[str] = choices, ballots: dict[str, Ballot] = ballots
        ) -> object:
            return select(names, choices, ballots)

        floor, took = seconds(bare, times), seconds(whole, times)
        print(
            f"{members} members × {options} options: {1 / took:,.0f} selections/s, {took * 1000:.3f} ms each, "
            f"{took / floor:.1f} × the floor of {floor * 1000:.3f} ms"
        )


if __name__ == "__main__":
    main()
