"""A toy act and a toy sealed stage: what a copy of the packages must be told so that rooms have them.

The act is `forgive`: the creditor of a promise lets it end. The stage is `mood`: everybody says, sealed, one word.
`PLACES` is the whole of it. A file is named by its path; its edits are pairs of a line that stands there and the lines
that take its place. A path without edits is a new file.
"""

from pathlib import Path

STAGE = '''"""Mood: everybody says, sealed, one word for how it feels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from protocols.core.findings import Finding, Refused
from protocols.core.message import Message, Name
from protocols.duties.duties import Duty
from protocols.messages.bodies import first_problem
from protocols.stage.sealed import SealedRound
from protocols.stage.setting import Setting
from protocols.stage.stage import Stage
from protocols.stage.steps import Step
from protocols.stage.table import CLOSED, DONE, START, Table, reveal_of, seal_of

MOOD = "mood.word"
TABLE: Table = {
    START: {CLOSED: seal_of(MOOD)},
    seal_of(MOOD): {CLOSED: reveal_of(MOOD)},
    reveal_of(MOOD): {CLOSED: DONE},
}


class Mood(Message):
    """How a member feels, in one word."""

    word: Name


class MoodDuty(Duty):
    """Say, sealed, how you feel."""

    act: Literal["mood"] = "mood"


@dataclass(slots=True)
class MoodStage(Stage):
    """Everybody's mood."""

    steps = TABLE

    setting: Setting
    moods: SealedRound[Mood] = field(default_factory=lambda: SealedRound(MOOD))

    def rounds(self) -> Sequence[SealedRound[Any]]:
        return (self.moods,)

    def judge(
        self, round_: SealedRound[Any], member: str, content: dict[str, Any], position: int
    ) -> tuple[Any, list[Finding]]:
        try:
            return Mood.read(content), []
        except ValidationError as error:
            raise Refused("void_mood", first_problem(error)) from None

    def duty_at(self, step: Step, member: str) -> Duty:
        return MoodDuty(member=member, step=step.id, deadline=step.deadline)
'''

PLACES: dict[str, list[tuple[str, str]]] = {
    # The act: what it says, and what it does.
    "protocols/messages/commitments.py": [
        (
            "class WaiveCommitment(Message):",
            '''class ForgiveCommitment(Message):
    """The creditor forgives, and says why if it likes."""

    kind: Literal["commitment.forgive"] = "commitment.forgive"
    commitment: CommitmentName
    because: Words | None = None


class WaiveCommitment(Message):''',
        ),
        ("    ReportEvent,\n    ConfirmReport,", "    ForgiveCommitment,\n    ReportEvent,\n    ConfirmReport,"),
    ],
    "protocols/commitments/lifecycle.py": [
        ('    RESUME = "resume"\n', '    RESUME = "resume"\n    FORGIVE = "forgive"\n'),
        (
            "    Move.RESUME: Role.EMPOWERED,\n",
            "    Move.RESUME: Role.EMPOWERED,\n    Move.FORGIVE: Role.CREDITOR,\n",
        ),
        (
            "    State.CONDITIONAL: {\n",
            "    State.CONDITIONAL: {\n        Move.FORGIVE: State.TERMINATED,\n",
        ),
        ("    State.DETACHED: {\n", "    State.DETACHED: {\n        Move.FORGIVE: State.TERMINATED,\n"),
    ],
    # The stage: all of it, its place on an agenda, and the code of what is void in it.
    "protocols/room/mood.py": [],
    "protocols/messages/room.py": [
        (
            'Agenda = Literal["accord", "concord", "commitments"]',
            'Agenda = Literal["accord", "concord", "mood", "commitments"]',
        ),
    ],
    "protocols/room/room.py": [
        (
            "from protocols.room.outcome import",
            "from protocols.room.mood import MoodStage\nfrom protocols.room.outcome import",
        ),
        (
            '    "concord": lambda room:',
            '    "mood": lambda room: MoodStage(room.setting),\n    "concord": lambda room:',
        ),
    ],
    "protocols/core/findings.py": [
        (
            '    "void_ballot":',
            '    "void_mood": (WARNING, "A mood breaks its model."),\n    "void_ballot":',
        ),
    ],
}


def tell(copy: Path) -> None:
    """Write the toys into a copy of the packages; raises ``LookupError`` where a line to edit has gone."""
    for place, edits in PLACES.items():
        path = copy / place
        if not edits:
            path.write_text(STAGE, encoding="utf-8")
            continue
        text = path.read_text("utf-8")
        for old, new in edits:
            if text.count(old) != 1:
                raise LookupError(f"{place} has {text.count(old)} times: {old}")
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
