"""What a check reports: JSON with stable fields, and the same as a table for people."""

from collections import Counter
from typing import Any, Literal

from protocols.core.message import Message
from swarm.text import visible

Outcome = Literal["answered", "excused", "late", "failed", "invalid", "outside_mandate", "silent"]
"""What came of a duty.

``excused``: the mind said why it does not answer. ``late``: it had not answered when its time was up. ``failed``: it
raised, or its command ended or wrote no line of ours. ``invalid``, ``outside_mandate``: its peer refused its last
answer.
``silent``: its peer said nothing that counts.
"""
Verdict = Literal["held", "gave_way", "unclear"]

LONGEST_CELL = 64
LONGEST_LINE = 300


class Cost(Message):
    """What an answer cost: as the mind declares it, and ``milliseconds`` as its peer measured them."""

    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    milliseconds: int = 0

    def plus(self, other: "Cost") -> "Cost":
        """Return both together."""
        return Cost(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})


class Asked(Message):
    """One duty and its outcome.

    ``sent_back`` are the problems that the mind was told when it was asked again. ``because`` is the reason on the
    record, if there is no answer. ``answer`` is the mind's last one, null if it gave none; ``short`` is the answer or
    the reason in a few words. ``peer_held`` tells whether the peer said something that counts at that step by its
    deadline.
    """

    trial: str
    act: str
    about: str
    outcome: Outcome
    sent_back: list[str]
    because: str | None
    answer: Any
    short: str
    peer_held: bool
    cost: Cost


class Straight(Asked):
    """A duty as it comes. ``again`` is the outcome of the same duty in a room of its own.

    ``same`` tells whether both answers are equal; it is null if one of the two is missing.
    """

    again: Outcome
    same: bool | None


class Temptation(Asked):
    """A duty with a temptation that a mind should resist, whether it did, and the evidence."""

    verdict: Verdict
    evidence: str


class NotTested(Message):
    """A trial that says nothing about this agent file in this room, and why."""

    trial: str
    act: str
    why: str


class RoomUsed(Message):
    """Where the rooms come from: the scenario's name for it, its file (null: the built-in one), and the seat."""

    room: str
    scenario: str | None
    member: str
    step_seconds: int


class Summary(Message):
    """Straight duties by outcome, temptations by verdict, and how many duties answered twice had equal answers."""

    outcomes: dict[Outcome, int]
    verdicts: dict[Verdict, int]
    asked_twice: int
    same_answer: int


class Report(Message):
    """The whole check of one agent file."""

    agent: str
    room: RoomUsed
    straight: list[Straight]
    temptations: list[Temptation]
    not_tested: list[NotTested]
    notes: list[str]
    summary: Summary
    cost: Cost

    def json_object(self) -> dict[str, Any]:
        """Return the report as ``--json`` prints it, absent values as null."""
        plain: dict[str, Any] = self.model_dump(mode="json")
        return plain


def summarise(straight: list[Straight], temptations: list[Temptation]) -> Summary:
    """Count."""
    return Summary(
        outcomes=dict(Counter(asked.outcome for asked in straight)),
        verdicts=dict(Counter(tempted.verdict for tempted in temptations)),
        asked_twice=sum(asked.same is not None for asked in straight),
        same_answer=sum(asked.same is True for asked in straight),
    )


def lines(report: Report) -> list[str]:
    """Return the report for people: one line for each trial, the evidence, what was not tested, and the totals."""
    from swarm.text import table

    where = report.room.scenario or "the built-in room"
    shown = [f"agent {report.agent} as {report.room.member} in {where}, {report.room.step_seconds} s a duty", ""]
    rows = [["DUTY", "DID", "AGAIN", "COST", "ANSWER"]]
    rows += [
        [asked.trial, _did(asked), _again(asked), _cost(asked.cost), _brief(asked.short)] for asked in report.straight
    ]
    shown += table([[visible(cell) for cell in row] for row in rows])
    if report.temptations:
        rows = [["TEMPTATION", "AT", "DID", "VERDICT", "COST"]]
        rows += [
            [each.trial, each.act, _did(each), each.verdict.replace("_", " "), _cost(each.cost)]
            for each in report.temptations
        ]
        shown += ["", *table([[visible(cell) for cell in row] for row in rows]), ""]
        shown += [f"  {each.trial}: {_brief(visible(each.evidence), LONGEST_LINE)}" for each in report.temptations]
    if report.not_tested:
        shown += ["", "NOT TESTED", *(f"  {each.trial}: {visible(each.why)}" for each in report.not_tested)]
    shown += [f"note: {visible(note)}" for note in report.notes]
    return [*shown, "", _sums(report)]


def _did(asked: Asked) -> str:
    did = asked.outcome.replace("_", " ") + (", sent back" if asked.sent_back else "")
    return did if asked.peer_held else f"{did}, its peer said nothing in time"


def _again(asked: Straight) -> str:
    return asked.again if asked.same is None else "same" if asked.same else "differs"


def _cost(cost: Cost) -> str:
    tokens = cost.tokens_in + cost.tokens_out
    parts = [f"{tokens} tokens"] if tokens else []
    parts += [f"{cost.calls} {'call' if cost.calls == 1 else 'calls'}"] if cost.calls else []
    return ", ".join([*parts, f"{cost.milliseconds / 1000:.1f} s"])


def _brief(text: str, longest: int = LONGEST_CELL) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _sums(report: Report) -> str:
    summary = report.summary
    outcomes = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(summary.outcomes.items()))
    counts = summary.verdicts
    verdicts = f"{counts.get('held', 0)} held, {counts.get('gave_way', 0)} gave way, {counts.get('unclear', 0)} unclear"
    twice = f"the same answer {summary.same_answer} of {summary.asked_twice} times"
    return f"duties: {outcomes or 'none'}; {twice}. temptations: {verdicts}. cost: {_cost(report.cost)}."
