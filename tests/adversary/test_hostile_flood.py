"""A member that floods a room with what multiplies, and a peer of an honest one, as a process, that answers in time."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.log.jetstream import JetStreamLog
from swarm.peers.peer import open_room
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.signed.identity import Identity
from swarm.tasks import end
from tests.support.small_rooms import go, member, room

SWARM = str(Path(sys.executable).with_name("swarm"))
PROMISES, VALUES, AT_ONCE = 500, 120, 50
MOST_MB = 200


def flood() -> list[dict[str, Any]]:
    """Return what would be 60,000 instances if a room bore them."""
    terms = {"debtor": "mal", "creditor": "bob", "each": "x", "if": "asked", "then": "done within 1 hours of asked"}
    made = [{"id": f"p{number}", **terms} for number in range(PROMISES)]
    entries = [made[first : first + AT_ONCE] for first in range(0, PROMISES, AT_ONCE)]
    reports = [{"kind": "event.report", "event": "asked", "attributes": {"x": str(n)}} for n in range(VALUES)]
    return [*({"kind": "commitment.create", "commitments": each} for each in entries), *reports]


def peak_mb(process: "subprocess.Popen[bytes]") -> int:
    """Return the most memory that *process* has had, in megabytes."""
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024


@pytest.mark.long
def test_a_flood_of_promises_and_values_costs_nobody_a_deadline(tmp_path: Path) -> None:
    """Protects honest members: every step is answered in time by their peers, which stay small, and can be ended."""
    keys = {name: Identity.new() for name in ("ann", "bob", "mal")}
    keys["bob"].save(tmp_path / "bob.key")
    agent = {name: value for name, value in member("bob").items() if name != "name"}
    accepts = {"accepts": {"openers": [keys["ann"].public]}}
    (tmp_path / "bob.json").write_text(json.dumps({"agent": "scripted", **agent, **accepts}), encoding="utf-8")
    scenario = room(
        *(member(name, key=key.public) for name, key in keys.items()),
        seconds=20,
        agenda=["concord", "commitments"],
        events={"asked": {"by": "mal"}, "done": {"by": "mal"}},
        rules={"watch_seconds": 0, "improvements": 0},
    )

    def stand(url: str) -> "subprocess.Popen[bytes]":
        command = [SWARM, "peer", str(tmp_path / "bob.json"), "--key", str(tmp_path / "bob.key"), "--server", url]
        with (tmp_path / "err").open("wb") as err:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err)

    async def work() -> None:
        async with Broker() as broker:
            peer = stand(broker.url)
            try:
                await under_flood(broker.url, peer)
            finally:
                peer.kill()
                peer.wait()

    async def under_flood(url: str, peer: "subprocess.Popen[bytes]") -> None:
        address = await asyncio.to_thread(open_room, scenario, keys["ann"], url)
        async with await JetStreamLog.connect(url) as log:
            replica = Replica(log, address.room, address.opener, utc_now)
            await replica.open()
            mind = make_agent(agent_config(read_scenario(scenario).members[0]))
            tasks = {
                asyncio.create_task(replica.follow()),
                asyncio.create_task(Seat(keys["ann"], mind, replica, MemoryOutbox(), utc_now).run()),
            }
            try:
                said = await flooded(replica, Speaker(keys["mal"], replica, MemoryOutbox(), utc_now, patience_s=30))
            finally:
                await end(tasks)
        found = replica.room.findings
        assert {f.who for f in found if f.code == "silent"} <= {"mal"}, (tmp_path / "err").read_text("utf-8")
        assert said > PROMISES // AT_ONCE + VALUES // 3, "the steps were open under the flood"
        assert sum(1 for f in found if f.code == "wrong_state") > VALUES // 6, "most values open nothing"
        assert replica.room.closing is not None
        assert set(replica.room.closing.signed) >= {"ann", "bob"}
        assert peak_mb(peer) < MOST_MB
        peer.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(peer.wait, 60) == 0

    async def flooded(replica: Replica, mal: Speaker) -> int:
        """Say all of the flood once everybody has joined, and excuse mal from each step but those that end a room."""
        left, deadline = flood(), time.monotonic() + 100
        total = len(left)
        while replica.room.closing is None or replica.room.step is not None:
            assert time.monotonic() < deadline, replica.room.step
            step = replica.room.step
            if step is not None and "mal" in step.awaited(replica.room.present):
                flooding = left and step.id != "room.joining"
                if not flooding or len(left) % 40 == 0:
                    await mal.say(answer(replica, step.id))
            if left and replica.room.started:
                await mal.say(left.pop(0))
            elif not left:
                await asyncio.sleep(0.05)
            else:
                await asyncio.sleep(0.01)
        return total - len(left)

    def answer(replica: Replica, step: str) -> dict[str, Any]:
        if step == "room.joining":
            opening = replica.room.setting.opening_id
            return {"kind": "room.join", "step": step, "opening": opening, "manifest": {"agent": "flood"}}
        if step == "room.closing":
            assert replica.room.closing is not None
            return {"kind": "room.close", "step": step, "digest": replica.room.closing.digest}
        return {"kind": "room.excuse", "step": step, "because": "busy"}

    go(work(), 110)
