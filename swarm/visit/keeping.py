"""What one-shot commands keep of a key between two of them: the last signed bytes, and whether the user was told.

A command that is cut off, or whose log did not answer, may have said what it was asked to say. So its bytes are stored
before they are sent, in a folder of the key's own, and the same command, given again, finds them.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from protocols.core.canonical import canonical, digest
from protocols.core.message import Message
from protocols.messages.room import RoomOpen
from swarm.errors import BadEntry, BadInput, SwarmError, Unavailable
from swarm.log.subjects import token
from swarm.seat.outbox import FileOutbox
from swarm.signed.entry import Entry, parse_entry

LOCKED_EVERY_S = 0.05


def state_folder(key: str) -> Path:
    """Return the folder in which commands keep things for the key *key*: under XDG_STATE_HOME, or ~/.local/state."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # The specification says that relative paths are ignored.
    home = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return home / "swarm" / key


def said_file(key: str, room: str) -> Path:
    """Return where what *key* says in *room* is stored by default; raises `BadInput`."""
    try:
        return state_folder(key) / f"{token(room)}.said"
    except ValueError as error:
        raise BadInput(f"no room's name: {error}") from None


def opening_file(key: str, opening: RoomOpen) -> Path:
    """Return where *key* stores what it signed to open *opening*, whose nonce is the same for every such question."""
    return state_folder(key) / f"{opening.slug}.{digest(opening.plain())[:26]}.opening"


class Kept(FileOutbox):
    """An outbox at *path* that also knows whether the user was told that its content was said."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._told = path.with_name(path.name + ".told")
        self._lock = path.with_name(path.name + ".lock")

    @asynccontextmanager
    async def held(self, patience_s: float) -> AsyncIterator[None]:
        """Hold it against other processes, making its folder if there is none; raises `BadInput`, `Unavailable`."""
        folder = self._lock.parent
        try:
            for each in (folder.parent, folder):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BadInput(
                f"what is signed is kept here before it is sent, and cannot be: {error.strerror}; name another place, "
                "with --outbox FILE or XDG_STATE_HOME",
                source=self.place,
            ) from None
        try:
            await self._locked(lock, patience_s)
            yield
        finally:
            os.close(lock)

    async def _locked(self, lock: int, patience_s: float) -> None:
        give_up = asyncio.get_running_loop().time() + patience_s
        with contextlib.suppress(ImportError):
            import fcntl

            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except OSError:
                    if asyncio.get_running_loop().time() > give_up:
                        raise Unavailable(f"{self.place}: another command goes on speaking with this key") from None
                await asyncio.sleep(LOCKED_EVERY_S)

    def last(self) -> Entry | None:
        """Return what was signed last, or None if there is nothing or it cannot be read."""
        try:
            kept = self.kept()
            return None if kept is None else parse_entry(kept)
        except BadEntry:
            return None

    def untold(self) -> Entry | None:
        """Return what was signed last if its user does not know that it was said."""
        entry = self.last()
        return entry if entry is not None and entry.id != self._read_told() else None

    def tell(self, entry: Entry) -> None:
        """Record that the user is told of *entry*. Raises `SwarmError`."""
        try:
            self._told.write_text(entry.id, encoding="ascii")
        except OSError as error:
            raise SwarmError(f"{self._told}: {error.strerror}") from None

    def _read_told(self) -> str:
        try:
            return self._told.read_text(encoding="ascii")
        except (OSError, ValueError):
            return ""


def says(entry: Entry | None, body: Message) -> bool:
    """Tell whether *entry* says exactly *body*."""
    return entry is not None and canonical(entry.body) == canonical(body.plain())
