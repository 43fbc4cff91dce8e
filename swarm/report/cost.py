"""Section 6: what the room cost, as the entries declare it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from swarm.report.reading import Reading
from swarm.report.sentences import Sentence, say


@dataclass(frozen=True, slots=True)
class Spent:
    """What one member's entries declare.

    ``share`` is its part of the tokens (or else calls, or seconds) in per cent.
    """

    member: str
    tokens_in: str
    tokens_out: str
    calls: str
    seconds: str
    models: tuple[str, ...]
    share: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The section; ``none`` says that no entry declares a cost."""

    none: Sentence | None
    rows: tuple[Spent, ...] = ()
    total: Spent | None = None
    told: tuple[Sentence, ...] = ()
    models: tuple[tuple[str, str], ...] = ()


def cost(reading: Reading) -> Cost:
    """Return the section of *reading*."""
    found = reading.summary.get("cost")
    models = _manifests(reading)
    if found is None or not any(_amount(found, name) for name in ("tokens", "calls", "seconds")):
        return Cost(say("No entry declares what saying it took: no tokens, no calls, no seconds."), models=models)
    by = next(name for name in ("tokens", "calls", "seconds") if _amount(found, name))
    whole = _amount(found, by)
    rows = [_spent(member, used, by, whole) for member, used in found["members"].items() if _any(used)]
    told = []
    shares = found["coordinating"]
    for name in ("tokens", "calls", "seconds"):
        if shares[name] is not None:
            part = f"{Decimal(shares[name]) * 100:.0f} %"
            told.append(say(f"{part} of the {name} went into coming to the result, the rest into acting on promises."))
            break
    told.append(say("These are the members' own words: no entry proves what was really used."))
    return Cost(None, tuple(rows), _spent("", {**found, "models": []}, by, whole), tuple(told), models)


def _manifests(reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return what each member said about itself on joining: kind of mind and model."""
    found: dict[str, str] = {}
    for said in reading.said:
        if said.kind == "room.join" and said.by not in found:
            manifest = (said.body or {}).get("manifest")
            if isinstance(manifest, dict):
                model = manifest.get("model")
                found[said.by] = f"{manifest.get('agent', '')}" + (f", {model}" if model else "")
    return tuple(found.items())


def _any(used: Mapping[str, Any]) -> bool:
    return any(_amount(used, name) for name in ("tokens", "calls", "seconds"))


def _amount(used: Mapping[str, Any], name: str) -> Decimal:
    if name == "tokens":
        return Decimal(used["tokens_in"] + used["tokens_out"])
    return Decimal(used[name])


def _spent(member: str, used: Mapping[str, Any], by: str, whole: Decimal) -> Spent:
    return Spent(
        member=member,
        tokens_in=f"{used['tokens_in']:,}",
        tokens_out=f"{used['tokens_out']:,}",
        calls=f"{used['calls']:,}",
        seconds=f"{Decimal(used['seconds']):,.2f}",
        models=tuple(used["models"]),
        share=round(_amount(used, by) / whole * 100) if whole else 0,
    )
