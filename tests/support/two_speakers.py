"""One process of two: says *count* things in a room with the key it is given, and prints how that ended.

Usage: ``two_speakers.py URL ROOM OPENER COUNT`` with the seed in hex on the input, which it waits for.
"""

import asyncio
import sys

from swarm.clock import utc_now
from swarm.errors import SwarmError
from swarm.log.jetstream import JetStreamLog
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.speaker import Speaker
from swarm.signed.identity import Identity


async def main(url: str, room: str, opener: str, count: str) -> None:
    identity = Identity(bytes.fromhex(sys.stdin.readline().strip()))
    async with await JetStreamLog.connect(url, identity=identity) as log:
        replica = Replica(log, room, opener, utc_now)
        await replica.open()
        speaker = Speaker(identity, replica, MemoryOutbox(), utc_now, patience_s=30)
        said: list[str] = []
        try:
            for _ in range(int(count)):
                said.append((await speaker.say({"kind": "room.tick"})).id)
            ended = "done"
        except SwarmError as error:
            ended = f"{type(error).__name__}: {error}"
    print(ended)
    print(" ".join(said))


asyncio.run(main(*sys.argv[1:]))
