"""Errors by whose fault they are.

::

    SwarmError
    ├── BadInput        theirs: a file, option or name that a person gave us; says place and what is valid
    ├── BadEntry        theirs: bytes on a log that are not a valid entry; carries a stable code
    ├── SecondProcess   theirs: another process speaks with this key in this room
    ├── ClockApart      theirs: this process's clock and the log's are too far apart
    └── WireError       the wire's: the broker or the network
        ├── Unavailable     no server, no leader, a time-out: worth trying again
        ├── WrongLast       somebody wrote on that subject since (compare-and-set failed)
        ├── LogFull         the store or the author's cap is full
        ├── TooLarge        the message is over the server's or the stream's limit
        ├── Unsaid          signed, and refused: nothing else may be signed in its place
        ├── Denied          the server refuses this key that subject
        ├── Untrusted       the server has no certificate that we trust, or no TLS
        └── RolledBack      the log has lost what it had acknowledged or shown

Anything else that escapes is a bug of ours.
"""


class SwarmError(Exception):
    """Base of all errors that are not bugs of ours."""


class BadInput(SwarmError):
    """Input that cannot be used: where (``source``, ``line``), what is wrong, and what would be valid."""

    def __init__(self, message: str, *, source: str = "", line: int | None = None) -> None:
        self.message = message
        self.source = source
        self.line = line
        place = f"{source}:{line}: " if source and line else f"{source}: " if source else ""
        super().__init__(place + message)


class BadEntry(SwarmError):
    """Bytes that are not a valid entry of this room; ``code`` is one of the finding codes."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class WireError(SwarmError):
    """The broker or the network failed us."""


class Unavailable(WireError):
    """Nobody answered in time: no server, no leader, a lagging replica. Worth trying again."""


class WrongLast(WireError):
    """The subject's last sequence is not the expected one."""


class LogFull(WireError):
    """The store, the stream or the author's own cap is full."""


class TooLarge(WireError):
    """The message is larger than the server or the stream allows."""


class Unsaid(WireError):
    """The log refuses an entry that a key has signed for it, and may have kept it nevertheless.

    Nothing else is signed under that entry's number: two entries with one number would be proof against their author.
    """


class Denied(WireError):
    """The server does not let this key use that subject."""


class Untrusted(WireError):
    """The server shows no certificate that we trust, or offers no TLS although it was requested."""


class RolledBack(WireError):
    """The log ends before a record that this reader was given or that was acknowledged to it, and this persists.

    Somebody restored an old store, or deleted and re-created the stream. A replica that merely lags is waited for. A
    replica that is cut off from the others for longer than the call's time-out looks the same, so ask again before
    giving up.
    """


class SecondProcess(SwarmError):
    """Another process speaks with this key in this room."""


class ClockApart(SwarmError):
    """The clocks of this process and of the log differ too much for its entries to count."""
