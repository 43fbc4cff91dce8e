"""A mind that can be held in the middle, and writes down what it is asked."""

import asyncio
import os
from pathlib import Path

from agents import Agent
from agents.agent import Proposed, Ratified, Scored
from protocols.duties.duties import Duty, ProposeDuty, RatifyDuty, ScoreDuty
from protocols.messages.concord import Option


class Held(Agent):
    """Agrees to whatever is asked, but scores nothing before the file *go* is there.

    *asked* is a file for the process and the act of each question.
    """

    def __init__(self, asked: str, go: str) -> None:
        self.asked = Path(asked)
        self.go = Path(go)

    def _write_down(self, duty: Duty) -> None:
        with self.asked.open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {duty.act}\n")

    async def propose(self, duty: ProposeDuty) -> Proposed:
        self._write_down(duty)
        return Proposed(Option(title=f"what {duty.member} wants", offer={"day": "mon"}))

    async def score(self, duty: ScoreDuty) -> Scored:
        self._write_down(duty)
        while not self.go.exists():
            await asyncio.sleep(0.05)
        return Scored({asked.id: 70 for asked in duty.options})

    async def ratify(self, duty: RatifyDuty) -> Ratified:
        self._write_down(duty)
        return Ratified(True)
