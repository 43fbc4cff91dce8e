"""Where a run reads and writes, and what it keeps: checked before the room opens, and resumable."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from swarm.errors import BadInput
from swarm.files.writing import held
from swarm.seat.outbox import FileOutbox, MemoryOutbox, Outbox
from swarm.signed.identity import Identity


@dataclass(frozen=True, slots=True)
class Kept:
    """The keys of a run's members, and what else it keeps: in a directory, or in memory for one run."""

    directory: Path | None
    identities: Mapping[str, Identity]
    seeds: Mapping[str, bytes]
    opening: Outbox

    @classmethod
    @contextmanager
    def at(cls, directory: Path | None, names: Sequence[str]) -> Iterator[Self]:
        """Yield what is kept in *directory*, locked against any other run meanwhile.

        Missing keys are made. Without a directory everything is new, and ends with this process. Raises `BadInput` if
        the directory is unusable.
        """
        if directory is None:
            seeds = {name: os.urandom(32) for name in names}
            yield cls(None, {name: Identity(seed) for name, seed in seeds.items()}, seeds, MemoryOutbox())
            return
        directory, lock = directory.resolve(), ExitStack()
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            (directory / "keys").mkdir(mode=0o700, exist_ok=True)
            lock.enter_context(held(directory / "run.lock", "another run is going on in this directory"))
        except OSError as error:
            raise BadInput(f"nothing can be kept here: {error.strerror}", source=str(directory)) from None
        with lock:
            identities = {name: _key(_key_path(directory, place)) for place, name in enumerate(names)}
            yield cls(directory, identities, {}, FileOutbox(directory / "opening"))

    @property
    def broker(self) -> Path | None:
        """Where the embedded server keeps its store, if it does."""
        return None if self.directory is None else self.directory / "broker"

    def private(self, name: str) -> dict[str, Any]:
        """Return the member's key and the place of its outbox, in the form in which its process is told."""
        if self.directory is None:
            return {"seed": self.seeds[name].hex()}
        path = _key_path(self.directory, list(self.identities).index(name))
        return {"key": str(path), "outbox": str(path.with_suffix(".outbox"))}

    def spoken(self) -> bool:
        """Tell whether a member has said something in the run that is kept here."""
        return self.directory is not None and any((self.directory / "keys").glob("*.outbox"))


def _key_path(directory: Path, place: int) -> Path:
    return directory / "keys" / f"{place:02d}.key"


def _key(path: Path) -> Identity:
    """Return the key at *path*, or make one there in one step, so that a killed run leaves no partial key."""
    if not path.exists():
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        Identity.new().save(new)
        new.replace(path)
    return Identity.load(path)
