"""Acting on promises as a file says: when to report what, and whose reports to confirm."""

from collections import Counter

from agents.agent import Performed, Watch
from agents.script import Acting, Performance
from protocols.core.instants import Duration, parse_duration
from protocols.core.message import Message
from protocols.duties.duties import PerformDuty
from protocols.messages.commitments import (
    ON_COMMITMENT,
    ConfirmReport,
    DisputeReport,
    ReportEvent,
)


class Actor:
    """Follows one member's `Acting`. It reads what was done from the duty, so that a restart repeats nothing."""

    def __init__(self, acting: Acting) -> None:
        self._acting = acting

    def perform(self, duty: PerformDuty, watch: Watch) -> Performed:
        """Return what to say now, and after how long there may be more to say."""
        acts = [answer for report in duty.awaiting if (answer := self._answer(report.event, report.id)) is not None]
        reported = Counter((r.event, *sorted(r.attributes.items())) for r in duty.done)
        operated = Counter((o.do, o.commitment) for o in duty.operations)
        waits: list[Duration] = []
        for planned in self._acting.performs:
            if planned.event is not None:
                done, key = reported, (planned.event, *sorted(planned.attributes.items()))
            else:
                done, key = operated, (planned.do, planned.commitment)  # type: ignore[assignment]
            if done[key] > 0:
                done[key] -= 1
                continue
            wait = _wait(planned, watch)
            act = _act(planned, duty)
            if wait is None or act is None:
                continue
            if wait > 0:
                waits.append(wait)
            else:
                acts.append(act)
        return Performed(acts, min(waits, default=None))

    def _answer(self, event: str, report: str) -> Message | None:
        confirms = self._acting.confirms
        choice = confirms.get(event, True) if isinstance(confirms, dict) else confirms
        if choice is False:
            return None
        return DisputeReport(report=report) if choice == "dispute" else ConfirmReport(report=report)


def _wait(planned: Performance, watch: Watch) -> Duration | None:
    """Return how long until *planned* is due (0 or less: now), or None while its condition has not come true."""
    after = parse_duration(planned.after) if planned.after is not None else 0
    elapsed = watch.elapsed(planned.when or "agreed")
    return None if elapsed is None else Duration(after - elapsed)


def _act(planned: Performance, duty: PerformDuty) -> Message | None:
    """Return the *planned* act; None if it would accept something that nobody has offered."""
    if planned.event is not None:
        return ReportEvent(event=planned.event, attributes=planned.attributes)
    assert planned.do is not None and planned.commitment is not None
    said = {"commitment": planned.commitment, "to": planned.to, "until": planned.until, "because": planned.because}
    if planned.do == "accept":
        said["offer"] = duty.offer_of(planned.commitment)
        if said["offer"] is None:
            return None
    return ON_COMMITMENT[planned.do].model_validate({key: value for key, value in said.items() if value is not None})
