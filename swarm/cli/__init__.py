"""The command line: one file for each verb; results go to stdout, progress and complaints to stderr."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; Ctrl-C while it is still loading is reported like any other."""
    try:
        from swarm.cli.app import main as run
    except KeyboardInterrupt:
        print("swarm: interrupted", file=sys.stderr)
        sys.exit(3)
    run()
