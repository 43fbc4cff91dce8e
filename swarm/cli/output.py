"""What the verbs share: one JSON object on stdout, or text for people."""

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def print_json(plain: Any) -> None:
    """Print exactly one JSON object on stdout; control characters are escaped, the text is exact."""
    json.dump(plain, sys.stdout, ensure_ascii=True, indent=None, separators=(", ", ": "))
    sys.stdout.write("\n")
    sys.stdout.flush()


def console(*, stderr: bool = False) -> "Console":
    """Return a console that colours only a terminal and never interprets what it prints."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
