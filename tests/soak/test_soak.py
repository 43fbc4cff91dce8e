"""Standing peers for long and in many rooms at once: nothing is lost, nothing hangs, nothing is left in memory."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from swarm.auditing.auditing import audit
from swarm.ledger.file import write_ledger
from swarm.seat.replica import Replica
from swarm.signed.checkpoint import sign_checkpoint
from swarm.visit.saying import reading
from tests.support.soak_rooms import NAMES, Site

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

ROOMS_AT_ONCE = 250
ENTRIES_A_ROOM = 35
ROOMS_IN_TURN = 1000
AT_ONCE = 10
FLAT = 1.2
"""Memory is flat if 1,000 rooms in turn leave a process at most a fifth larger than 100 did."""


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def alive(kind: type) -> int:
    gc.collect()
    return sum(isinstance(each, kind) for each in gc.get_objects())


async def audited(site: Site, room: str) -> set[tuple[str, bytes]]:
    """Export *room*, audit it, and return what is on the log."""
    path = site.folder / "room.jsonl"
    ann = site.identities["ann"]
    async with reading(room, site.url, ann, timeout_s=60) as replica:
        records = replica.fold.records
        checkpoint = sign_checkpoint(ann, room=room, count=len(records), head=replica.fold.chain.head)
        write_ledger(path, room, records, checkpoint)
    shown = audit(path, roster=site.keys)
    assert shown.verdict == "verified", (room, shown.findings)
    assert not {finding["code"] for finding in shown.findings} & {"equivocation", "duplicate", "silent", "late"}
    return {(room, record.payload) for record in records}


def test_a_peer_does_not_grow_with_the_rooms_it_has_seen(tmp_path: Path) -> None:
    """Protects a peer that runs for months: rooms that are over leave nothing behind that adds up."""

    async def work() -> dict[int, Any]:
        sizes: dict[int, int] = {}
        async with Site(tmp_path) as site:
            site.begin.set()
            for count in range(AT_ONCE, ROOMS_IN_TURN + 1, AT_ONCE):
                await site.ended(await site.open(AT_ONCE))
                site.over.clear()
                if count in (100, ROOMS_IN_TURN):
                    await asyncio.sleep(1)
                    assert alive(Replica) == 0
                    sizes[count] = resident_bytes()
        return sizes

    sizes = asyncio.run(asyncio.wait_for(work(), 1200))
    assert sizes[ROOMS_IN_TURN] < FLAT * sizes[100], sizes


def test_rooms_at_once_with_a_server_restart_in_the_middle(tmp_path: Path) -> None:
    """Protects every room from the number of the others, and all of them from a server that dies and comes back."""

    async def work() -> None:
        async with Site(tmp_path, note=True) as site:
            rooms = await site.open(ROOMS_AT_ONCE)
            site.begin.set()
            while len(site.acknowledged()) < ROOMS_AT_ONCE * ENTRIES_A_ROOM // 2:
                await asyncio.sleep(0.1)
            await site.restart(2)
            assert len(site.over) < ROOMS_AT_ONCE / 2, "the rooms were over before the server went"
            await site.ended(rooms)
            outcomes = {name: {room: site.over[room][name] for room in rooms} for name in NAMES}
            assert set(outcomes["ann"].values()) == {"agreed"}
            assert all(outcomes[name] == outcomes["ann"] for name in NAMES)
            on_the_log: set[tuple[str, bytes]] = set()
            for room in rooms:
                on_the_log |= await audited(site, room)
            assert not site.acknowledged() - on_the_log

    asyncio.run(asyncio.wait_for(work(), 1200))
