"""The command line: one file a verb, results on stdout, progress and complaints on stderr."""

from swarm.cli.app import main

__all__ = ["main"]
