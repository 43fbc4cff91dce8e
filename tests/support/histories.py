"""Short ways to write histories: days of January 2026, and what `swarm track` makes of them."""

from typing import Any

from protocols.core.instants import DAY, Instant, parse_instant, show_instant
from swarm.history.tracking import TrackResult, track

START: Instant = parse_instant("2026-01-01T00:00:00Z")
WATER = {
    "id": "water",
    "debtor": "alice",
    "creditor": "bob",
    "if": "paid by 2026-01-11T00:00:00Z",
    "then": "delivered within 5 days of paid",
}
NEEDS_CONFIRMATION = {"delivered": {"by": "alice", "confirmed_by": "bob"}}


def day(number: int, micros: int = 0) -> str:
    """The text of midnight on the *number*-th of January 2026, *micros* µs later."""
    return show_instant(START + (number - 1) * DAY + micros)


def instant(number: int, micros: int = 0) -> Instant:
    return START + (number - 1) * DAY + micros


def _at(when: int | str) -> str:
    return day(when) if isinstance(when, int) else when


def said(when: int | str, event: str, by: str = "alice", **fields: Any) -> dict[str, Any]:
    return {"at": _at(when), "event": event, "by": by, **fields}


def did(when: int | str, do: str, by: str, **fields: Any) -> dict[str, Any]:
    return {"at": _at(when), "do": do, "by": by, **fields}


def promise(name: str, then: str, if_: str | None = None, debtor: str = "alice", **fields: Any) -> dict[str, Any]:
    terms = {"id": name, "debtor": debtor, "creditor": "bob" if debtor != "bob" else "alice", "then": then, **fields}
    return terms if if_ is None else {**terms, "if": if_}


def history(*lines: dict[str, Any], commitments: Any = (WATER,), as_of: int | str | None = None, **rest: Any) -> Any:
    plain = {"parties": ["alice", "bob", "carol"], "commitments": list(commitments), "history": list(lines), **rest}
    return plain if as_of is None else {**plain, "as_of": _at(as_of)}


def follow(*lines: dict[str, Any], **rest: Any) -> TrackResult:
    return track(history(*lines, **rest))


def state(result: TrackResult, name: str = "water") -> tuple[str, str | None]:
    """A commitment's state and since when."""
    found = result.plain()["commitments"][name]
    return found["state"], found["since"]


def codes(result: TrackResult) -> list[str]:
    return [refusal.code for refusal in result.refused]
