"""What a machine may lack, such as a browser or data that is not ours to ship. In CI (``CI=true``) it is an error."""

import os
from pathlib import Path
from typing import Any

import pytest

IN_CI = os.environ.get("CI", "").lower() in ("true", "1")


def needs(path: Path) -> pytest.MarkDecorator:
    """Mark a test that reads *path*: left out where there is no such path; in CI it runs, and fails."""
    return pytest.mark.skipif(not path.exists() and not IN_CI, reason=f"there is no {path}")


def given(path: Path) -> list[Any]:
    """Return a parameter that is left out with its reason, in place of the rows in *path*; raise an error in CI."""
    if IN_CI:
        raise FileNotFoundError(f"the known answers are not at {path}")
    return [pytest.param(None, id="given", marks=pytest.mark.skip(reason=f"the known answers are not at {path}"))]
