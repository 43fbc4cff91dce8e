"""Reports: who may report an event, who confirms it, and what is still unsettled.

::

    reported ── nobody confirms this event ──▶ holds
        └─ unanswered ── confirmed, or silence confirms ──▶ holds
               │   └──── silence denies ──▶ does not hold
               └─ disputed ── confirmed, or decided so ──▶ holds
                      └────── decided otherwise ──▶ does not hold
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from protocols.commitments.acts import Act, ActRefused
from protocols.core.instants import Duration, Instant, later, parse_duration
from protocols.messages.commitments import ROLE, EventRule

ANYONE: Final = EventRule()
Holder = Callable[[str | None, Mapping[str, str]], str | None]
"""Returns whom the name in a rule means now, for a report with these attributes."""


@dataclass(slots=True)
class Report:
    """An unsettled report. ``disputed_at`` is when it was disputed."""

    number: int
    id: str | None
    event: str
    by: str
    at: Instant
    item: int
    attributes: Mapping[str, str]
    disputed_at: Instant | None = None

    @property
    def disputed(self) -> bool:
        """Whether its confirmer has disputed it."""
        return self.disputed_at is not None


@dataclass(frozen=True, slots=True)
class Awaited:
    """A report that a member is asked to confirm or dispute."""

    id: str
    event: str
    by: str
    at: Instant
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Settled:
    """What is remembered of a report once it is final."""

    event: str
    by: str
    outcome: str


@dataclass(slots=True)
class Reports:
    """Everything that was reported: unsettled reports in full, and of the others only that each id was used.

    ``same_time`` holds the reports of the present instant. A repetition carries the time of what it repeats, so only
    these can be repeated.
    """

    parties: frozenset[str]
    rules: Mapping[str, EventRule]
    listed_only: bool
    holder: Holder = field(compare=False)
    unsettled: dict[int, Report] = field(default_factory=dict)
    ids: dict[str, "Report | Settled"] = field(default_factory=dict)
    same_time: dict[str, tuple[str, str, Mapping[str, str]]] = field(default_factory=dict)
    time: Instant | None = None
    made: int = 0
    kinds: dict[tuple[str, str, str], Settled] = field(default_factory=dict)

    def rule(self, event: str) -> EventRule:
        """Return the rule for *event*.

        Without a rule, any party reports it and nobody confirms it (docs/tracker.md, clause 12).
        """
        return self.rules.get(event, ANYONE)

    def judge(self, act: Act) -> EventRule:
        """Return the rule of the event that *act* reports, or raise `ActRefused`."""
        # docs/tracker.md, clause 12: who may report; "in a room, only listed events may be reported".
        event = act.event or ""
        rule = self.rules.get(event)
        if rule is None:
            if self.listed_only:
                raise ActRefused("not_allowed", f"{event} is no event that this room lists")
            rule = ANYONE
        if act.by not in self.parties:
            raise ActRefused("not_allowed", f"{act.by} is no party")
        if rule.by is not None and self.holder(rule.by, act.attributes) != act.by:
            raise ActRefused("not_allowed", f"{event} is reported by {rule.by}")
        return rule

    def is_repeated(self, act: Act) -> bool:
        """Return whether *act* repeats a report; raise `ActRefused` if its id was used for different content."""
        if self.time != act.at:
            self.time = act.at
            self.same_time.clear()
        if act.report is None or act.report not in self.ids:
            return False
        # Clause 12: the same content counts once; "any other content under that id is `conflicting_report`".
        if self.same_time.get(act.report) == (act.event, act.by, act.attributes):
            return True
        raise ActRefused("conflicting_report", f"another report has the id {act.report!r}")

    def take(self, act: Act, rule: EventRule) -> Report | None:
        """Remember the report that *act* makes; return it if it waits for an answer."""
        event = act.event or ""
        waits = rule.confirmed_by is not None
        if act.report is not None:
            self.same_time[act.report] = (event, act.by, act.attributes)
            if not waits:
                self.ids[act.report] = self._settled(event, act.by, "holds at once")
        if not waits:
            return None
        self.made += 1
        report = Report(self.made, act.report, event, act.by, act.at, act.item, dict(act.attributes))
        self.unsettled[report.number] = report
        if act.report is not None:
            self.ids[act.report] = report
        return report

    def answer_of(self, act: Act) -> Report:
        """Return the report that *act* answers, or raise `ActRefused`."""
        found = self.ids.get(act.report or "")
        if found is None:
            raise ActRefused("unknown_report", f"no report has the id {act.report!r}")
        rule = self.rule(found.event)
        named = rule.decided_by if act.do == "decide" else rule.confirmed_by
        answerer = self.holder(named, found.attributes if isinstance(found, Report) else {})
        if act.by != answerer:
            who = f"only {answerer} may" if answerer is not None else "nobody has to"
            raise ActRefused("not_allowed", f"{act.do} {found.event}: {who}")
        # Clause 13: "Nobody may answer their own report."
        if act.by == found.by:
            raise ActRefused("not_allowed", f"{act.by} reported it and cannot {act.do} it")
        # Clause 13: "A confirmation is final; a disputed report may still be confirmed."
        if isinstance(found, Settled):
            raise ActRefused("wrong_state", f"the report is settled: {found.outcome}")
        if act.do == "decide" and not found.disputed:
            raise ActRefused("wrong_state", "only a disputed report is decided")
        if act.do == "dispute" and found.disputed:
            raise ActRefused("wrong_state", "the report is disputed already")
        return found

    def settle(self, report: Report, outcome: str) -> None:
        """Remember that *report* is final."""
        del self.unsettled[report.number]
        if report.id is not None:
            self.ids[report.id] = self._settled(report.event, report.by, outcome)

    def silence_after(self, report: Report) -> tuple[Duration, bool] | None:
        """Return how long *report* may stay unanswered and whether silence confirms it.

        Without such a rule, the result is ``None``.
        """
        rule = self.rule(report.event)
        if rule.silence is None or rule.confirm_within is None:
            return None
        return parse_duration(rule.confirm_within), rule.silence == "confirms"

    def answerable_until(self) -> Instant | None:
        """Return the last instant at which an unanswered report is still within its ``confirm_within``."""
        ends = [
            later(report.at, parse_duration(within))
            for report in self.unsettled.values()
            if not report.disputed and (within := self.rule(report.event).confirm_within) is not None
        ]
        return max(ends, default=None)

    def awaiting(self, member: str) -> list[Awaited]:
        """Return the unanswered reports that *member* should confirm or dispute, in the order of their time."""
        return [
            Awaited(report.id, report.event, report.by, report.at, report.attributes)
            for report in self.unsettled.values()
            if report.id is not None
            and not report.disputed
            and report.by != member
            and self.holder(self.rule(report.event).confirmed_by, report.attributes) == member
        ]

    def _settled(self, event: str, by: str, outcome: str) -> Settled:
        kind = (event, by, outcome)
        settled = self.kinds.get(kind)
        if settled is None:
            settled = self.kinds[kind] = Settled(event, by, outcome)
        return settled


def check_authority(
    parties: Collection[str],
    events: Mapping[str, EventRule],
    powers: Mapping[str, Collection[str]],
    commitments: Collection[str] | None = None,
) -> None:
    """Raise ``ValueError`` if rules or powers name an unknown party, commitment or power.

    *commitments* are those whose debtor or creditor a rule may name; ``None`` if more may be made later.
    """
    for event, rule in events.items():
        for role in ("by", "confirmed_by", "decided_by"):
            name = getattr(rule, role)
            place = None if name is None else ROLE.fullmatch(name)
            if place is not None:
                if commitments is not None and place["commitment"] not in commitments:
                    raise ValueError(f"events.{event}.{role}: no commitment has the id {place['commitment']!r}")
            elif name is not None and name not in parties:
                raise ValueError(f"events.{event}.{role}: {name!r} is no party (parties: {', '.join(parties)})")
    for power, names in powers.items():
        if power not in POWERS:
            raise ValueError(f"powers: {power!r} is no power (valid: {', '.join(POWERS)})")
        for name in names:
            if name not in parties:
                raise ValueError(f"powers.{power}: {name!r} is no party (parties: {', '.join(parties)})")


POWERS: Final = ("suspend", "resume")
"""Powers that parties other than debtor and creditor may be given; ``suspend`` includes ``resume``."""
