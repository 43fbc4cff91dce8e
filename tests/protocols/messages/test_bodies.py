"""What a body says is checked by its model before any rule sees it."""

import pytest
from pydantic import ValidationError

from protocols.messages.accord import Case, Interpretation


def test_a_case_has_one_verdict() -> None:
    """Protects comparison: one text judged twice would make two readings of one meaning."""
    cases = [Case(text="a late train", applies=True), Case(text="a late train", applies=False)]
    with pytest.raises(ValidationError, match="two cases have the same text"):
        Interpretation(meaning="late", cases=cases)
