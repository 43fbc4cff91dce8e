"""How a room stands, from its log alone: who owes what since when, and whether it has reached them.

For each awaited answer, three things are told apart. It was *said* to the member: the step is open. It was *delivered*:
an entry of the member says that it has seen the opening of the step. It was *acted on*: the answer is there. Nothing
here guesses about a process: a member whose last sign of life is long ago is shown with that time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from protocols.core.findings import Finding, Severity
from protocols.core.instants import SECOND, Instant, format_instant
from protocols.duties.duties import PerformDuty
from protocols.room.room import Room
from protocols.stage.steps import Step, is_late
from swarm.ledger.fold import Fold

STALE_S = 60
"""A member is stale if it owes something and has shown no sign of life for longer than this and a step's time."""


@dataclass(frozen=True, slots=True)
class Life:
    """What the log shows of one member's process: its last entry, how far it had read, and how its clock differs.

    ``clock_ms`` is the store time minus the author's own clock at its last entry, in milliseconds.
    """

    key: str
    last: Instant | None
    seen: int
    clock_ms: int | None


def _life(fold: Fold, key: str) -> Life:
    record = fold.latest.get(key)
    if record is None or record.entry is None:
        return Life(key, None, 0, None)
    seen = max(fold.chain.authors[key].seen, record.entry.seen_count)
    return Life(key, record.stored, seen, (record.stored - record.entry.sent) // 1000)


def status_of(fold: Fold, now: Instant) -> dict[str, Any]:
    """Return how the room of *fold* stands at *now* (microseconds, the reader's clock).

    ``waiting`` has one item for each awaited answer: ``state`` is ``said`` or ``delivered``; ``seconds`` is how long
    the room has waited for it, by the log's time or the reader's clock, whichever is later.
    """
    room, keys = fold.room, {name: key for key, name in fold.names.items()}
    lives = {key: _life(fold, key) for key in keys.values()}
    reached = max(now, room.at)
    return {
        "room": room.setting.room,
        "intent": room.setting.opening.intent,
        "outcome": None if room.ending is None else room.ending.outcome,
        "reason": None if room.ending is None else room.ending.reason,
        "over": room.over,
        "records": fold.chain.position,
        "at": format_instant(room.at),
        "step": _step(room.step, reached),
        "waiting": _waiting(fold, {name: lives[key] for name, key in keys.items()}, reached),
        "members": [_member(room, name, lives[key], reached) for name, key in keys.items()],
        "promises": _promises(room),
        "findings": [finding.plain() for finding in _worth(room.findings)],
    }


def _step(step: Step | None, reached: Instant) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "id": step.id,
        "opened": step.opened,
        "since": format_instant(step.opened_at),
        "deadline": format_instant(step.deadline),
        "late": is_late(step.deadline, reached),
        "answered": list(step.answers),
        "excused": dict(step.excused),
    }


def _waiting(fold: Fold, lives: Mapping[str, Life], reached: Instant) -> list[dict[str, Any]]:
    room, waiting = fold.room, []
    if room.step is not None and not room.over:
        for member in room.step.awaited(room.present):
            life = lives[member]
            opened = room.step.opened
            waiting.append(_awaited(room, member, room.step.id, opened, room.step.opened_at, life, reached))
    for member in room.present if room.promises is not None and room.started and not room.over else ():
        life = lives[member]
        duty = next(each for each in room.duties(member) if isinstance(each, PerformDuty))
        for report in duty.awaiting:
            position, at = fold.reports[report.id]
            waiting.append(_awaited(room, member, f"confirm {report.event}", position, at, life, reached))
        for offer in duty.offers:
            position, at = fold.offers[offer.id]
            awaited = _awaited(room, member, f"accept {offer.commitment}", position, at, life, reached)
            waiting.append(awaited | {"offer": offer.plain()})
    return waiting


def _awaited(
    room: Room, member: str, what: str, position: int, since: Instant, life: Life, reached: Instant
) -> dict[str, Any]:
    return {
        "member": member,
        "for": what,
        "position": position,
        "state": "delivered" if life.seen >= position else "said",
        "since": format_instant(since),
        "seconds": max(0, reached - since) // SECOND,
        "stale": _stale(room, life, reached),
    }


def _stale(room: Room, life: Life, reached: Instant) -> bool:
    """Tell whether a member has shown no sign of life for so long that its answer should not be expected."""
    longest = max(STALE_S, room.setting.opening.rules.step_seconds) * SECOND
    return life.last is None or reached - life.last > longest


def _member(room: Room, name: str, life: Life, reached: Instant) -> dict[str, Any]:
    return {
        "name": name,
        "key": life.key,
        "last": None if life.last is None else format_instant(life.last),
        "silent_seconds": None if life.last is None else max(0, reached - life.last) // SECOND,
        "clock_ms": life.clock_ms,
        "seen": life.seen,
        "left": room.left.get(name),
    }


def _promises(room: Room) -> dict[str, dict[str, Any]]:
    if room.tracker is None:
        return {}
    return {
        name: {"state": status.state, "debtor": status.debtor, "creditor": status.creditor}
        for name, status in room.tracker.statuses().items()
    }


def _worth(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is not Severity.NOTE]
