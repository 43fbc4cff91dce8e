"""The demo's scenario, which the wheel carries: `examples/renewal.yaml`, byte for byte."""

from importlib.resources import files
from importlib.resources.abc import Traversable

SLUG = "kestrel-renewal"
"""The room of the demo, as its names begin."""


def scenario() -> Traversable:
    """Return the scenario file."""
    return files(__name__) / "renewal.yaml"
