"""Writing files: places are checked before the work begins, and a file has its old content or all of the new.

Anything that is not a regular file (a device, a pipe, a socket) is written through, and a link is followed: to replace
either would remove what is behind it. A replaced file keeps its mode.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from swarm.errors import BadInput


def check_writable(paths: Sequence[Path | None], source: Path | None) -> None:
    """Raise `BadInput` if one of *paths*, for results, cannot be written, or equals *source* or another path."""
    taken = [] if source is None else [source.resolve()]
    for path in paths:
        if path is None:
            continue
        where = path.resolve()
        if where in taken and _replaced(where):
            raise BadInput("this file is read or written already; give each its own", source=str(path))
        taken.append(where)
        try:
            if where.is_dir():
                raise BadInput("this is a folder; name a file in it", source=str(path))
            os.stat(where.parent)
            if not _replaced(where):
                continue
            with contextlib.suppress(FileNotFoundError):
                os.lstat(_new(where))
            with tempfile.TemporaryFile(dir=where.parent):
                pass
        except OSError as error:
            raise BadInput(f"it cannot be written: {error.strerror}", source=str(path)) from None


@contextmanager
def replacing(path: Path, *, private: bool = False, synced: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write; once it is closed, *path* contains all of it. After an exception, *path* is unchanged.

    With *private*, only its owner can read it, whatever was there before; with *synced*, it survives a power cut.
    Raises ``OSError``.
    """
    where = path.resolve()
    if not _replaced(where):
        with where.open("wb") as through:
            yield through
        return
    new = _new(where)
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if private else 0o666)
        with os.fdopen(handle, "wb") as file:
            if not private:
                with contextlib.suppress(FileNotFoundError):
                    os.fchmod(handle, stat.S_IMODE(where.stat().st_mode))
            yield file
            if synced:
                file.flush()
                os.fsync(handle)
        new.replace(where)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    if synced:
        _sync_folder(where.parent)


def replace_text(path: Path, text: str, what: str) -> None:
    """Write *text* to *path*; raise `BadInput` naming *what* it is."""
    try:
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise BadInput(f"the {what} cannot be written: {error.strerror}", source=str(path)) from None


@contextmanager
def held(path: Path, taken: str) -> Iterator[None]:
    """Hold the lock file *path* against other processes; it is free again when this process ends, in whatever way.

    Raises `BadInput` with the text *taken* if another process holds it, and ``OSError`` if it cannot be made.
    """
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise BadInput(taken, source=str(path.parent)) from None
    try:
        yield
    finally:
        lock.release()


def _new(where: Path) -> Path:
    return where.with_name(where.name + ".new")


def _replaced(where: Path) -> bool:
    """Tell whether *where* is a regular file, or does not exist yet; anything else is written through."""
    try:
        return stat.S_ISREG(where.stat().st_mode)
    except FileNotFoundError:
        return True


def _sync_folder(folder: Path) -> None:
    """Make the replacement of a file in *folder* durable; not every system can sync a folder."""
    with contextlib.suppress(PermissionError, IsADirectoryError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):
                os.fsync(handle)
        finally:
            os.close(handle)
