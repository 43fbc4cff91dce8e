"""The outbox: the last bytes that a member signed in a room, kept before they are published.

After a restart or a lost acknowledgement exactly these bytes are sent again, so that no member ever signs two
different entries with one number.
"""

import os
from abc import ABC, abstractmethod
from pathlib import Path

from swarm.errors import SwarmError


class Outbox(ABC):
    """Keeps the last signed payload of one member in one room."""

    @abstractmethod
    def keep(self, payload: bytes) -> None:
        """Keep *payload* in place of the one before; it is safe when this returns. Raises `SwarmError`."""

    @abstractmethod
    def kept(self) -> bytes | None:
        """Return the payload kept last, or None. Raises `SwarmError`."""


class MemoryOutbox(Outbox):
    """For members that end with their process."""

    def __init__(self) -> None:
        self._payload: bytes | None = None

    def keep(self, payload: bytes) -> None:  # noqa: D102
        self._payload = payload

    def kept(self) -> bytes | None:  # noqa: D102
        return self._payload


class FileOutbox(Outbox):
    """A small synced file, replaced in one step: it holds what it held before, or all of what is new."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, payload: bytes) -> None:  # noqa: D102
        new = self._path.with_name(self._path.name + ".new")
        try:
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            raise SwarmError(f"{self._path}: what is to be said cannot be kept: {error.strerror}") from None

    def kept(self) -> bytes | None:  # noqa: D102
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SwarmError(f"{self._path}: what was kept cannot be read: {error.strerror}") from None
