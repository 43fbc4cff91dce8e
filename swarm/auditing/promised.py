"""How well each promise's state is shown: on whose word it rests, and whether anybody but the exporter signed that.

A state is *covered* if the records that two members have signed show it, since the same instant. Beyond them order,
times and silence are one member's word: the one that handed the ledger over, or whoever stands behind it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from protocols.commitments.status import Status
from protocols.core.instants import Instant, show_instant
from protocols.room import Room

NOT_SHOWN: Final = "not shown to be kept"
"""The state of a promise that nobody is shown to have kept by an instant up to which nobody is shown to have spoken."""
OPEN_ENDS: Final = ("unconfirmed", "disputed")


@dataclass(frozen=True, slots=True)
class Shown:
    """A promise as an audit shows it. ``word``: ``own`` (its reporter's alone), ``confirmed``, None without a report.

    ``unmet``: its state is what ``--strict`` objects to. ``owed_covered``: that it is, or is not, still owed at the end
    of the watch is shown by the records that two members have signed.
    """

    state: str
    since: Instant | None
    covered: bool
    word: str | None
    unmet: bool
    owed_covered: bool = True

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        since = None if self.since is None else show_instant(self.since)
        return {"state": self.state, "since": since, "covered": self.covered, "word": self.word}


def shown_promises(
    shown: Room, covered: Room, said: Mapping[int, str], spoken: Mapping[str, Status], *, asserts: bool
) -> dict[str, Shown]:
    """Return each promise of the room *shown*, which *covered* is as far as two members have signed it.

    *said* are the kinds of entries about events by position, *spoken* the states before time alone passed. Unless it
    *asserts* breaches, one that is not covered, or a duty that only time has made, is not shown to be kept.
    """
    if shown.tracker is None or covered.tracker is None:
        return {}
    signed = covered.tracker.statuses()
    found = {}
    for name, status in sorted(shown.tracker.statuses().items()):
        held, owed = signed.get(name), name in shown.owed
        agrees = held is not None and _what_counts(held) == _what_counts(status)
        ended = owed == (name in covered.owed)
        word = _word(status, said)
        by_time = name in spoken and (spoken[name].state, spoken[name].since) != (status.state, status.since)
        if not agrees and not asserts and (status.state == "violated" or (by_time and status.state == "detached")):
            found[name] = Shown(NOT_SHOWN, None, False, word, False)
        else:
            unmet = is_unmet(status) or (owed and (ended or asserts))
            found[name] = Shown(status.state, status.since, agrees, word, unmet, ended)
    return found


def _what_counts(status: Status) -> tuple[object, ...]:
    """Return what a reader takes from a promise: where it stands, between whom, and whether a breach was waived."""
    return status.state, status.since, status.debtor, status.creditor, "waived" in status.notes


def _word(status: Status, said: Mapping[int, str]) -> str | None:
    """Return on whose word the reports rest that carried the state."""
    kinds = [said.get(item) for item in status.because]
    reports = kinds.count("event.report")
    if not reports:
        return None
    return "confirmed" if len(kinds) - kinds.count(None) >= 2 * reports else "own"


def is_unmet(status: Status) -> bool:
    """Tell whether a promise hangs, or is broken without remedy."""
    hangs = status.state in OPEN_ENDS
    broken = status.state == "violated" and status.remedy in ("none", "violated") and "waived" not in status.notes
    return hangs or broken
