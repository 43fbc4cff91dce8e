"""What running a log takes: acknowledged publishes by sync setting, and how large entries, rooms and stores are.

Ratios are measured in one run and interleaved; the absolute figures are those of the machine at hand.
"""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from negotiation import negotiate

from swarm.broker.server import Broker
from swarm.log.connection import Connection
from swarm.log.jetstream import JetStreamLog
from swarm.signed.identity import Identity

ROUNDS = 12
PUBLISHES = 200
ENTRY_BYTES = 1300
SETTINGS = (None, "10s", "1s", "100ms", "always")
ROOMS = 30


async def publishes(log: JetStreamLog, tag: str, at_once: int) -> float:
    """Return the seconds that one acknowledged publish takes, so many *at_once* by as many authors."""
    payload = b"x" * ENTRY_BYTES
    lasts = [0] * at_once

    async def author(number: int) -> None:
        key = f"U{tag}{number}"
        for _ in range(PUBLISHES // at_once):
            lasts[number] = await log.append("bench-" + "a" * 26, key, payload, expected_last=lasts[number])

    start = perf_counter()
    await asyncio.gather(*(author(number) for number in range(at_once)))
    return (perf_counter() - start) / PUBLISHES


async def syncs(folder: Path) -> None:
    """Print what each sync setting costs, against the server's own default."""
    took: dict[tuple[str | None, int], list[float]] = {}
    brokers = [Broker(folder / f"sync-{setting}", sync=setting) for setting in SETTINGS]
    logs = []
    for broker in brokers:
        await broker.__aenter__()
        logs.append(await JetStreamLog.connect(broker.url))
    for turn in range(ROUNDS):
        for setting, log in zip(SETTINGS, logs, strict=True):
            for at_once in (1, 16):
                spent = await publishes(log, f"{turn}x{at_once}x", at_once)
                took.setdefault((setting, at_once), []).append(spent)
    for log, broker in zip(logs, brokers, strict=True):
        await log.close()
        await broker.__aexit__(None, None, None)
    for at_once in (1, 16):
        base = statistics.median(took[None, at_once])
        for setting in SETTINGS:
            spent = statistics.median(took[setting, at_once])
            name = setting or "default (2m)"
            print(
                f"sync_interval {name:13} {at_once:2} at once: {spent * 1000:6.3f} ms a publish, {spent / base:5.2f}×"
            )


async def sizes(folder: Path) -> None:
    """Print how large the entries of a complete sealed run of four are, and what the server keeps of them."""
    async with Broker(folder / "sizes") as broker:
        log = await JetStreamLog.connect(broker.url, identity=Identity.new())
        folds = [(await negotiate(log))[1] for _ in range(ROOMS)]
        connection = await Connection.open(broker.url)
        deadline = asyncio.get_running_loop().time() + 10
        (reply,) = await connection.call("$JS.API.STREAM.INFO.SWARM", b"", deadline=deadline)
        state: dict[str, Any] = json.loads(reply.data)["state"]
        await connection.close()
        await log.close()
    on_disk = sum(path.stat().st_size for path in (folder / "sizes").rglob("*.blk"))
    entries: Sequence[int] = [len(record.payload) for fold in folds for record in fold.records]
    print(
        f"{len(folds[0].records)} entries a room; an entry: {statistics.mean(entries):.0f} bytes on average, ", end=""
    )
    print(f"{statistics.median(entries):.0f} median, {max(entries)} at most")
    print(f"the store: {state['bytes'] / state['messages']:.0f} bytes an entry as counted, ", end="")
    print(f"{on_disk / state['messages']:.0f} on disk, {on_disk / ROOMS / 1024:.0f} KiB a room")


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="swarm-bench-") as name:
        await sizes(Path(name))
        await syncs(Path(name))


if __name__ == "__main__":
    asyncio.run(main())
