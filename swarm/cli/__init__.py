"""The command line: one file a verb, results on stdout, progress and complaints on stderr."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; Ctrl-C while it is still being loaded is told like any other."""
    try:
        from swarm.cli.app import main as run
    except KeyboardInterrupt:
        print("swarm: interrupted", file=sys.stderr)
        sys.exit(3)
    run()
