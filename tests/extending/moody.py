"""Runs one room that has the toys: two members, a promise, moods. Prints as JSON what it came to.

It is run in a process of its own, with the copy of the packages in which the toys are.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from protocols.room.mood import Mood, MoodDuty, MoodStage

from agents.llm.forms import PerformForm
from agents.script import Script
from agents.scripted import Scripted
from protocols.messages.bodies import kind_of
from swarm.auditing.auditing import audit
from swarm.cli.say import body_of
from swarm.clock import utc_now
from swarm.history.tracking import track
from swarm.ledger.file import write_ledger
from swarm.log.memory import MemoryLog
from swarm.report import write_report
from swarm.scenario.scenario import read_scenario
from swarm.seat.mandate import Mandate
from swarm.seat.mandated import Mandated
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.identity import Identity

SCENARIO: dict[str, Any] = {
    "room": "moody",
    "intent": "Say how you feel.",
    "agenda": ["mood", "commitments"],
    "events": {"moved": {}},
    "promises": [{"id": "lamp", "debtor": "ann", "creditor": "bob", "then": "moved"}],
    "rules": {"step_seconds": 20},
    "members": [{"name": "ann"}, {"name": "bob"}, {"name": "cyd"}],
}
LINE = {"at": "2030-01-01T00:00:00Z", "by": "bob", "do": "forgive", "commitment": "lamp"}


class Moody(Scripted):
    """A scripted mind that has a mood."""

    def __init__(self, word: str, script: dict[str, Any]) -> None:
        super().__init__(Script.read(script))
        self._word = word

    async def mood(self, duty: MoodDuty) -> Mood:
        return Mood(word=self._word)


async def room_of(folder: Path) -> tuple[Any, Path, Path]:
    """Let three members go through the room to its end; return it, its ledger and its roster."""
    scenario, log = read_scenario(SCENARIO), MemoryLog()
    keys = {name: Identity.new() for name in scenario.names}
    opener = keys["ann"]
    opening = sign_opening(opener, scenario.opening({n: k.public for n, k in keys.items()}), utc_now())
    await publish_opening(log, opening)
    minds = {
        "ann": Moody("glad", {}),
        "bob": Mandated(Moody("tired", {"performs": [{"do": "forgive", "commitment": "lamp"}]}),
                        Mandate(acts=["forgive"])),
        "cyd": Scripted(Script()),
    }  # fmt: skip
    replicas = {name: Replica(log, opening.room, opener.public, utc_now) for name in keys}
    for replica in replicas.values():
        await replica.open()
    following = [asyncio.create_task(replica.follow()) for replica in replicas.values()]
    await asyncio.gather(
        *(Seat(keys[name], minds[name], replicas[name], MemoryOutbox(), utc_now).run() for name in keys)
    )
    for task in following:
        task.cancel()
    fold = replicas["ann"].fold
    ledger = folder / "room.jsonl"
    checkpoint = sign_checkpoint(opener, room=opening.room, count=fold.chain.position, head=fold.chain.head)
    write_ledger(ledger, opening.room, fold.records, checkpoint)
    roster = folder / "roster.json"
    roster.write_text(json.dumps({name: identity.public for name, identity in keys.items()}), encoding="utf-8")
    return fold.room, ledger, roster


def main(folder: Path) -> None:
    """Go through the room, and through what else knows the act without having been told."""
    room, ledger, roster = asyncio.run(room_of(folder))
    stage = room.stages["mood"]
    assert isinstance(stage, MoodStage)
    write_report(ledger, folder / "report.html")
    history = {
        "parties": ["ann", "bob"],
        "commitments": SCENARIO["promises"],
        "history": [LINE],
    }
    operation = {"do": "forgive", "promise": "lamp"}
    form = PerformForm.read({"operations": [operation]})
    print(
        json.dumps(
            {
                "outcome": room.ending.outcome,
                "steps": list(room.closed),
                "moods": {member: mood.word for member, mood in stage.moods.contents.items()},
                "excused": room.closed["mood.word.seal"].excused,
                "promises": {name: status.state for name, status in room.tracker.statuses().items()},
                "verdict": audit(ledger, roster=roster).verdict,
                "reported": "mood.word.seal" in (folder / "report.html").read_text("utf-8"),
                "said": kind_of(body_of("forgive", ["lamp"], "why not")),
                "tracked": track(history).commitments["lamp"].state,
                "form": form.operations[0].do,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
