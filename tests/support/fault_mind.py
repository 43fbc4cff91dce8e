"""A script that writes down what it is asked, for counting after its process has been killed."""

import os
import time
from pathlib import Path
from typing import Any

from agents.script import Script
from agents.scripted import Scripted
from protocols.duties.duties import Duty, JoinDuty

ACTS = ("interpret", "read", "settle", "quote", "propose", "score", "improve", "ratify")


class Noting(Scripted):
    """Answers from *script*, *pause_s* after it is asked.

    The file *notes* gets room, step, member and act of each question.
    """

    def __init__(self, notes: str, script: dict[str, Any], pause_s: str = "0") -> None:
        super().__init__(Script.model_validate(script))
        self._notes = Path(notes)
        self._pause_s = float(pause_s)

    def note(self, duty: Duty) -> None:
        """Write one line, in one step, so that a kill cuts none in two."""
        room = duty.briefing.room if duty.briefing is not None else "-"
        again = " again" if duty.problem else ""
        handle = os.open(self._notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{room} {duty.step} {duty.member} {duty.act}{again}\n".encode())
        os.close(handle)
        time.sleep(self._pause_s)

    def join(self, duty: JoinDuty) -> None:
        """Join, and note that it was asked."""
        self.note(duty)


for _act in ACTS:

    def _noting(act: str) -> Any:
        plain = getattr(Scripted, act)

        async def asked(self: Noting, duty: Duty) -> Any:
            self.note(duty)
            return await plain(self, duty)

        return asked

    setattr(Noting, _act, _noting(_act))
