"""Writing results: checked before the work begins, and replaced as a whole."""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from swarm.errors import BadInput


def check_writable(paths: Sequence[Path | None], source: Path | None) -> None:
    """Raise `BadInput` if one of *paths*, for results, cannot be written, or equals *source* or another path."""
    taken = [] if source is None else [source.resolve()]
    for path in paths:
        if path is None:
            continue
        where = path.resolve()
        if where in taken:
            raise BadInput("this file is read or written already; give each its own", source=str(path))
        taken.append(where)
        try:
            if where.is_dir():
                raise BadInput("this is a folder; name a file in it", source=str(path))
            os.stat(where.parent)
            with contextlib.suppress(FileNotFoundError):
                os.lstat(where.with_name(where.name + ".new"))
            with tempfile.TemporaryFile(dir=where.parent):
                pass
        except OSError as error:
            raise BadInput(f"it cannot be written: {error.strerror}", source=str(path)) from None


def replace_text(path: Path, text: str, what: str) -> None:
    """Write *text*, so that *path* contains either its old content or all of the new; raise `BadInput`."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise BadInput(f"the {what} cannot be written: {error.strerror}", source=str(path)) from None
