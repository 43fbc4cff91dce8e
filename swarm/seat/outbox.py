"""The outbox: the last bytes that a member signed in a room, stored before they are published.

After a restart or a lost acknowledgement, exactly these bytes are sent again, so that no member ever signs two
different entries with one number.
"""

from abc import ABC, abstractmethod
from pathlib import Path

from swarm.errors import SwarmError
from swarm.files.writing import replacing


class DamagedOutbox(SwarmError):
    """The outbox contains no entry, and nothing shows that one was said: to go on could sign its number again."""


class Outbox(ABC):
    """Keeps the last signed payload of one member in one room."""

    @property
    def place(self) -> str:
        """Where it is stored, in words for a person."""
        return "memory"

    @abstractmethod
    def keep(self, payload: bytes) -> None:
        """Store *payload* in place of the previous one; it is on disk when this returns. Raises `SwarmError`."""

    @abstractmethod
    def kept(self) -> bytes | None:
        """Return the payload stored last, or None. Raises `SwarmError`."""


class MemoryOutbox(Outbox):
    """For members that end with their process."""

    def __init__(self) -> None:
        self._payload: bytes | None = None

    def keep(self, payload: bytes) -> None:  # noqa: D102
        self._payload = payload

    def kept(self) -> bytes | None:  # noqa: D102
        return self._payload


class FileOutbox(Outbox):
    """A small synced file, replaced in one step: it contains its old content, or all of the new."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:  # noqa: D102
        return str(self._path)

    def keep(self, payload: bytes) -> None:  # noqa: D102
        try:
            with replacing(self._path, private=True, synced=True) as file:
                file.write(payload)
        except OSError as error:
            raise SwarmError(f"{self._path}: what is to be said cannot be kept: {error.strerror}") from None

    def kept(self) -> bytes | None:  # noqa: D102
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SwarmError(f"{self._path}: what was kept cannot be read: {error.strerror}") from None
