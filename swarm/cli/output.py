"""What the verbs share: one JSON object on stdout, or text for people."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console


def print_json(plain: Any) -> None:
    """Print exactly one JSON object on stdout; control characters are escaped, the text is exact."""
    json.dump(plain, sys.stdout, ensure_ascii=True, indent=None, separators=(", ", ": "))
    sys.stdout.write("\n")
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """Return a console that colours only a terminal and never interprets what it prints."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return *text* in *width* terminal cells, cut or filled; widths are counted after escaping."""
    cells = cell_len(text)
    if cells > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - cells) + text if right else text + " " * (width - cells)


def table(rows: Sequence[Sequence[str]], *, gap: int = 2, right: Sequence[int] = ()) -> list[str]:
    """Return *rows* as lines with aligned columns; *right* names columns aligned to the right."""
    if not rows:
        return []
    widths = [max(cell_len(row[i]) for row in rows if i < len(row)) for i in range(max(len(row) for row in rows))]
    return [
        (" " * gap).join(pad(cell, widths[i], right=i in right) for i, cell in enumerate(row)).rstrip() for row in rows
    ]
