"""Stores that are copied, restored and rolled back: what is in a copy, and what a peer does on an older one."""

import asyncio
import shutil
from pathlib import Path

import pytest

from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.errors import RolledBack
from swarm.log.memory import MemoryLog
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.visit.saying import reading
from tests.support.cluster_rooms import Four
from tests.support.small_rooms import Sitting, go, member, room


def test_the_store_of_a_stopped_server_can_be_copied(tmp_path: Path) -> None:
    """Protects the plainest of backups: what runs on the copy holds the same room, head for head."""
    four = Four()

    async def play() -> list[tuple[int, str]]:
        heads = []
        async with Broker(tmp_path / "first", members=list(four.keys.values())) as broker:
            four.servers = broker.url
            await four.run()
            heads.append(await head(four))
        await asyncio.to_thread(shutil.copytree, tmp_path / "first", tmp_path / "second")
        await asyncio.to_thread(shutil.rmtree, tmp_path / "first")
        async with Broker(tmp_path / "second", members=list(four.keys.values())) as broker:
            four.servers = broker.url
            heads.append(await head(four))
        return heads

    before, after = go(play(), 90)
    assert before == after
    assert before[0] > 50


async def head(four: Four) -> tuple[int, str]:
    async with reading(four.room, four.servers, four.identities["ann"], timeout_s=30) as replica:
        return replica.fold.chain.position, replica.fold.chain.head


@pytest.mark.parametrize("forgotten", [0, 1, 2])
def test_a_peer_on_an_older_store_signs_nothing_twice(monkeypatch: pytest.MonkeyPatch, forgotten: int) -> None:
    """Protects a member from a restored backup: its last entry is sent again; if more is gone, it stops: no fork."""
    monkeypatch.setattr("swarm.seat.speaker.LAG_S", 0.2)

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        replica, outbox = await sitting.open(), MemoryOutbox()
        identity = sitting.identities["bob"]
        speaker = Speaker(identity, replica, outbox, utc_now, patience_s=5)
        for _ in range(3):
            await speaker.say({"kind": "room.tick"})
        records = replica.fold.records
        older = MemoryLog()
        lasts: dict[str, int] = {}
        for record in records[: len(records) - forgotten]:
            last = lasts.get(record.author, 0)
            lasts[record.author] = await older.append(sitting.room, record.author, record.payload, expected_last=last)
        restored = Replica(older, sitting.room, sitting.opener.public, utc_now)
        await restored.open()
        await Speaker(identity, restored, outbox, utc_now, patience_s=5).recover()
        await restored.refresh()
        assert [r.payload for r in restored.fold.records] == [r.payload for r in records]

    if forgotten < 2:
        go(work())
    else:
        with pytest.raises(RolledBack, match=r"log_rolled_back: 2 entries of this key .* holds 1"):
            go(work())
