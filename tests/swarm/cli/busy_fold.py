"""`swarm`, with a fold that takes far too long: python busy_fold.py one|many ARGUMENTS.

one: folding one record never ends. many: each takes a while, and "all folded" is told where they are all done.
"""

import sys
import time
from typing import Any

from swarm.cli import main
from swarm.ledger.fold import Fold

RECORDS = 150
EACH_S = 0.06


def _busy(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def _slow(how: str) -> None:
    add, done = Fold.add, []

    def slow(self: Fold, stored: Any) -> Any:
        if not done:
            print("folding", file=sys.stderr, flush=True)
        done.append(None)
        _busy(1e9 if how == "one" else EACH_S)
        if len(done) == RECORDS:
            print("all folded", file=sys.stderr, flush=True)
        return add(self, stored)

    Fold.add = slow  # type: ignore[method-assign]


if __name__ == "__main__":
    _slow(sys.argv.pop(1))
    main()
