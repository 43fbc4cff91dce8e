"""Waiting for what another process does: as briefly as may be, and not for ever."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 60.0
"""Only what never comes reaches it."""


def until(holds: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> Any:
    """Wait until *holds* returns something true, and return it."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")
