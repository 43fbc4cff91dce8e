"""What a standing peer keeps of its rooms, and the gate with which it stops signing."""

import contextlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from swarm.errors import BadEntry, BadInput, SwarmError
from swarm.files.writing import held
from swarm.seat.outbox import FileOutbox, MemoryOutbox, Outbox
from swarm.signed.entry import parse_entry
from swarm.signed.identity import Identity, is_public_key
from swarm.signed.invitation import is_room_name


class Stopping(SwarmError):
    """Raised instead of signing once the peer is stopping."""


class Rooms:
    """What a standing peer keeps of its rooms: one outbox for each, in a folder or in memory."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @classmethod
    @contextmanager
    def at(cls, directory: Path | None, identity: Identity) -> Iterator["Rooms"]:
        """Hold what *identity* keeps in *directory*, locked against any other peer with this key; raises `BadInput`.

        Each key has a folder of its own there. Without a directory, signed bytes are kept only in memory.
        """
        if directory is None:
            yield cls()
            return
        folder, lock = directory / identity.public, ExitStack()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.enter_context(held(folder / "lock", "a peer with this key runs in this directory already"))
        except OSError as error:
            raise BadInput(f"nothing can be kept here: {error.strerror}", source=str(directory)) from None
        with lock:
            yield cls(folder)

    def outbox(self, room: str, opener: str) -> Outbox:
        """Return the outbox of *room*, opened by the holder of the key *opener*."""
        return MemoryOutbox() if self._folder is None else FileOutbox(self._path(self._folder, room, opener))

    def unfinished(self) -> list[tuple[str, str]]:
        """Return room and opener of each stored outbox, in the order of their names."""
        if self._folder is None:
            return []
        found = []
        for path in sorted(self._folder.glob("*.outbox")):
            room, _, opener = path.name.removesuffix(".outbox").partition(".")
            if is_room_name(room) and is_public_key(opener):
                found.append((room, opener))
        return found

    def forget(self, room: str, opener: str) -> None:
        """Remove the outbox of a room that is over. One that cannot be removed is only read once more."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._path(self._folder, room, opener).unlink(missing_ok=True)

    @staticmethod
    def _path(folder: Path, room: str, opener: str) -> Path:
        return folder / f"{room}.{opener}.outbox"


class Gate(Outbox):
    """An outbox that can be shut: what was stored before goes on its way, and nothing more is signed."""

    def __init__(self, behind: Outbox) -> None:
        self._behind = behind
        self.shut = False

    @property
    def place(self) -> str:
        """Where it is stored."""
        return self._behind.place

    def keep(self, payload: bytes) -> None:
        """Store *payload* before it is published; raise `Stopping` once the gate is shut."""
        if self.shut:
            raise Stopping("this peer is stopping")
        self._behind.keep(payload)

    def kept(self) -> bytes | None:
        """Return what was stored last."""
        return self._behind.kept()

    def in_flight(self, said: int) -> bool:
        """Tell whether what was stored last is beyond the *said* entries that the log is known to hold."""
        try:
            kept = self.kept()
            return kept is not None and parse_entry(kept).n > said
        except BadEntry:
            return False
