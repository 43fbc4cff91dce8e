"""The watch: the time after the agenda's end in which members stay to keep their promises and to answer reports.

Nobody leaves while something can still be decided: a report within the watch can be answered for as long as its event
allows, and a room whose watch is shorter than that does not open. What is said about promises afterwards has no effect,
because the members whom it concerns have left.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from protocols.core.findings import Finding
from protocols.core.instants import Instant, later, parse_duration, seconds_long
from protocols.core.message import Message
from protocols.messages.commitments import ConfirmReport, DecideReport, DisputeReport, EventRule
from protocols.room.calendar import Calendar
from protocols.room.promises import Promises
from protocols.stage.stage import Refused
from protocols.stage.steps import is_late

ANSWERS = (ConfirmReport, DisputeReport, DecideReport)
OWED = ("detached", "pending", "unconfirmed", "disputed")
"""States in which a debtor has something to do, or to have confirmed."""


def check_watch(seconds: int, events: Mapping[str, EventRule], calendar: Calendar) -> None:
    """Raise `Refused` if a room with a watch of *seconds* could end before a report within it can be answered."""
    for name, rule in events.items():
        if rule.confirm_within is not None and parse_duration(rule.confirm_within) > calendar.lasts(seconds):
            raise Refused(
                "bad_opening",
                f"rules.watch_seconds: {seconds} s are shorter than the time in which {name} can be confirmed "
                f"(confirm_within: {rule.confirm_within}), so nobody might be there any more to dispute a report",
            )


@dataclass(slots=True)
class Watch:
    """How long a room's members stay for its promises. It begins when the agenda has ended."""

    seconds: int
    began: Instant | None = None

    def end(self) -> Instant:
        """Return the last log time at which something new can be said about promises."""
        assert self.began is not None
        return later(self.began, seconds_long(self.seconds))

    def last(self, promises: Promises | None) -> Instant:
        """Return the last log time at which something can still be decided, by the watch or by an answer in time."""
        until = None if promises is None else promises.answerable_until()
        return self.end() if until is None else max(self.end(), until)

    def has_passed(self, promises: Promises | None, at: Instant) -> bool:
        """Return whether nothing more can be decided at log time *at*."""
        return self.began is not None and is_late(self.end(), at) and is_late(self.last(promises), at)

    def hold(self, body: Message, at: Instant) -> None:
        """Raise `Refused` if *body*, an act on promises, comes after the watch and answers no report."""
        if self.began is not None and is_late(self.end(), at) and not isinstance(body, ANSWERS):
            raise Refused("room_over", "the watch is over: only reports that were made within it are answered")


def still_owed(promises: Promises, position: int) -> dict[str, Finding]:
    """Return a finding, at *position*, for each promise that is owed and that something could still keep or break."""
    statuses = {name: promises.tracker.status(name) for name in promises.moving()}
    return {
        name: Finding(
            "still_owed", position, status.debtor, f"{name} is owed by {status.debtor} and undecided: {status.state}"
        )
        for name, status in statuses.items()
        if status.state in OWED
    }
