"""Rooms in which one member is held to a mandate, and what it signed there."""

import asyncio
from typing import Any

from agents import Agent
from swarm.ledger.fold import Fold
from swarm.seat.mandate import Mandate
from swarm.seat.mandated import Mandated
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.seat import Seat
from tests.support.small_rooms import Sitting, go


def play(
    scenario: dict[str, Any],
    mandate: dict[str, Any],
    minds: dict[str, Agent] | None = None,
    approver: Any = None,
    who: str = "ann",
) -> Fold:
    """Run *scenario* with *minds* in place of the file's, and *who* held to *mandate*."""

    async def work() -> Fold:
        sitting = Sitting(scenario)
        replica = await sitting.open()
        sitting.agents |= minds or {}
        sitting.agents[who] = Mandated(sitting.agents[who], Mandate.model_validate(mandate), approver)
        seats = [
            Seat(identity, sitting.agents[name], replica, MemoryOutbox(), replica.clock).run()
            for name, identity in sitting.identities.items()
        ]
        following = asyncio.create_task(replica.follow())
        await asyncio.gather(*seats)
        following.cancel()
        return replica.fold

    fold: Fold = go(work())
    return fold


def said(fold: Fold, who: str = "ann", kind: str | None = None) -> list[dict[str, Any]]:
    """Return the bodies that *who* signed, in order."""
    bodies = [r.entry.body for r in fold.records if r.entry is not None and fold.names.get(r.entry.author) == who]
    return [body for body in bodies if kind in (None, body["kind"])]
