"""Compare what two members mean by one term. Pure; no similarity of texts, no model, only what was said.

====================  =========================================================================================
``different``         both bound one quantity in one unit and the bounds differ as decimals; or their verdicts on
                      one case are yes and no; or either judges the other's meaning different
``same``              otherwise, if both gave one interpretation; or both judge ``same``; or their words are equal
                      and neither gives bounds or cases
``missing``           one of them said nothing
``untested``          everything else
====================  =========================================================================================
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from protocols.core.message import DECIMAL_PATTERN
from protocols.messages.accord import Bound, Interpretation, Judgement, Verdict

Relation = Literal["same", "different", "untested", "missing"]


@dataclass(frozen=True, slots=True)
class Position:
    """What one member said about one term.

    Its interpretation with the id of that, its verdicts on cases by their text, and its judgements on others' meanings
    by their id.
    """

    interpretation: Interpretation
    id: str
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    judgements: Mapping[str, Judgement] = field(default_factory=dict)


def compare(a: Position | None, b: Position | None) -> tuple[Relation, list[dict[str, Any]]]:
    """Return how the readings of *a* and *b* relate, and the evidence for it (each item is plain data)."""
    # The order is that of the numbered list in docs/protocol/rooms.md, "Accord".
    if a is None or b is None:
        return "missing", []
    evidence = [*_bounds(a.interpretation, b.interpretation), *_verdicts(a, b), *_judgements(a, b)]
    if evidence:
        return "different", evidence
    if a.id == b.id:
        return "same", [{"kind": "one_interpretation", "id": a.id}]
    if a.judgements.get(b.id) == "same" and b.judgements.get(a.id) == "same":
        return "same", [{"kind": "both_judge_same"}]
    plain = not (a.interpretation.bounds or a.interpretation.cases or b.interpretation.bounds or b.interpretation.cases)
    if plain and a.interpretation.meaning == b.interpretation.meaning:
        return "same", [{"kind": "equal_words"}]
    return "untested", []


def _bounds(a: Interpretation, b: Interpretation) -> list[dict[str, Any]]:
    return [
        {
            "kind": "bounds",
            "quantity": quantity,
            "bounds": [a.bounds[quantity].plain(), b.bounds[quantity].plain()],
        }
        for quantity in sorted(a.bounds.keys() & b.bounds.keys())
        if a.bounds[quantity].unit == b.bounds[quantity].unit and differ(a.bounds[quantity], b.bounds[quantity])
    ]


def differ(a: Bound, b: Bound) -> bool:
    """Tell whether two bounds on one quantity in one unit differ: as decimals, or as sets of values."""
    if (a.values is None) != (b.values is None):
        return True
    if a.values is not None and b.values is not None:
        return {_number(v) for v in a.values} != {_number(v) for v in b.values}
    return _decimal(a.min) != _decimal(b.min) or _decimal(a.max) != _decimal(b.max)


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _number(text: str) -> Decimal | str:
    """Return the form in which a listed value is compared: a decimal if the text reads as one, otherwise the text."""
    return Decimal(text) if re.fullmatch(DECIMAL_PATTERN, text) else text


def _verdicts(a: Position, b: Position) -> list[dict[str, Any]]:
    return [
        {"kind": "case", "case": case, "verdicts": [a.verdicts[case], b.verdicts[case]]}
        for case in sorted(a.verdicts.keys() & b.verdicts.keys())
        if {a.verdicts[case], b.verdicts[case]} == {"yes", "no"}
    ]


def _judgements(a: Position, b: Position) -> list[dict[str, Any]]:
    said = [a.judgements.get(b.id) == "different", b.judgements.get(a.id) == "different"]
    return [{"kind": "judged_different", "by": said}] if any(said) else []


def within(bounds: Mapping[str, Bound], values: Mapping[str, str]) -> bool | None:
    """Tell whether the *values* of a case lie within *bounds*; None if no bounded quantity has a value."""
    tested = [quantity for quantity in bounds if quantity in values]
    if not tested:
        return None
    return all(_holds(bounds[quantity], values[quantity]) for quantity in tested)


def _holds(bound: Bound, value: str) -> bool:
    if bound.values is not None:
        return _number(value) in {_number(listed) for listed in bound.values}
    number = Decimal(value)
    return (bound.min is None or number >= Decimal(bound.min)) and (bound.max is None or number <= Decimal(bound.max))
