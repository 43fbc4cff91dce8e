"""What a verb did, run in this process as if it had been typed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    """The exit code, and what stood on stdout and stderr."""

    code: int
    out: str
    err: str
