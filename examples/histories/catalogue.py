"""All the worked examples."""

from pathlib import Path
from typing import Final

from examples.histories import denied_boarding_eu, denied_boarding_us, late_delivery, sale_of_goods, subcontract

EXAMPLES: Final = (
    denied_boarding_eu.EXAMPLE,
    denied_boarding_us.EXAMPLE,
    sale_of_goods.EXAMPLE,
    subcontract.EXAMPLE,
    late_delivery.EXAMPLE,
)
FOLDER: Final = Path(__file__).parent


def files() -> dict[Path, str]:
    """Return the text of every history's file by its path."""
    return {FOLDER / path: text for example in EXAMPLES for path, text in example.files().items()}
