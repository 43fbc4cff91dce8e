"""The calendar of a room's promises: the log's own, or a rehearsed one that runs faster."""

from dataclasses import dataclass

from protocols.core.instants import LAST, SECOND, Duration, Instant, parse_duration, parse_instant
from protocols.messages.room import Rehearsal


@dataclass(slots=True)
class Calendar:
    """Converts log time into the time in which promises live, and back.

    Without a rehearsal, the two are the same. In a rehearsal, the promises' time stands at ``agreed_at`` until the
    agreement (log time ``started``); from then on, each second of the log counts as ``factor`` seconds, up to the end
    of the calendar.
    """

    agreed_at: Instant | None = None
    factor: int = 1
    started: Instant | None = None

    @classmethod
    def of(cls, rehearsal: Rehearsal | None) -> "Calendar":
        """Return the calendar that an opening fixes."""
        if rehearsal is None:
            return cls()
        return cls(parse_instant(rehearsal.agreed_at), parse_duration(rehearsal.second) // SECOND)

    def lasts(self, seconds: int) -> Duration:
        """Return how much of the promises' time *seconds* of the log are, once that time runs."""
        return Duration(seconds * SECOND * self.factor)

    def start(self, at: Instant) -> None:
        """Let the rehearsed time run from the agreement at log time *at*."""
        self.started = at

    def promised(self, at: Instant) -> Instant:
        """Return the promises' time at log time *at*."""
        if self.agreed_at is None:
            return at
        if self.started is None:
            return self.agreed_at
        return min(LAST, Instant(self.agreed_at + (at - self.started) * self.factor))

    def logged(self, instant: Instant) -> Instant | None:
        """Return the last log time at which the promises' time is not past *instant*; None if that time stands still.

        So a deadline in the promises' time is past exactly when log time is past the returned value.
        """
        if self.agreed_at is None:
            return instant
        if self.started is None:
            return None
        return Instant(self.started + (instant - self.agreed_at) // self.factor)
