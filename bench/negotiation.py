"""A complete sealed run of four scripted members in one process over the embedded server, against its floor.

The floor, measured in the same run and interleaved with it: the same number of entries of the same sizes, published
one after another with acknowledgement by bare nats-py and received by four bare subscriptions, plus the same number of
bare Ed25519 signatures and verifications. The ratio is what everything of ours costs: canonical bytes, chain, rules,
sealing, reading by consistent cuts.

A stricter floor publishes four at a time, as the members of a run do; it knows nothing of a run's rounds, of which
each waits for the one before.

Also: what one entry costs to fold in a room of 2,000 entries, against one of 200.
"""

import asyncio
import statistics
import sys
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any

import nats
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.ledger.fold import Fold
from swarm.log.jetstream import JetStreamLog
from swarm.log.memory import MemoryLog
from swarm.log.port import Stored
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.signed.identity import Identity

ROUNDS = 15
AIM = 2.0
TITLES = ["the first", "the second", "the third", "the fourth"]


def scenario() -> dict[str, Any]:
    """Return four members who differ on one of three terms, propose one option each, and agree."""
    members = [
        {
            "name": name,
            "agent": "scripted",
            "reads": {
                "task": {"meaning": "One delivery date that all four of us can keep."},
                "done": {"meaning": f"Live at the customer, as {name} sees it.", "cases": [
                    {"text": "merged, not deployed", "applies": place == 0}]},
                "week": {"meaning": "Five working days.", "bounds": {"days": {"min": 5, "max": 5, "unit": "days"}}},
            },
            "judges": {"task": {other: "same" for other in "abcd"}},
            "proposes": {"title": TITLES[place], "offer": {"weeks": 1 + place, "team": "own"},
                         "rationale": "It fits what we know of the load in the coming weeks."},
            "reserve": 20,
            "scores": {title: 90 - 10 * abs(place - other) for other, title in enumerate(TITLES)},
        }
        for place, name in enumerate("abcd")
    ]  # fmt: skip
    return {
        "room": "bench",
        "intent": "Agree on one delivery date.",
        "agenda": ["accord", "concord"],
        "terms": ["done", "week"],
        "issues": {"weeks": [1, 2, 3, 4], "team": ["own", "mixed"]},
        "rules": {"improvements": 4, "step_seconds": 30},
        "members": members,
    }


async def negotiate(log: Any) -> tuple[float, Fold]:
    """Return how long one whole run takes, opening to the last witness, and its fold."""
    parsed = read_scenario(scenario())
    identities = {name: Identity.new() for name in parsed.names}
    opening = parsed.opening({name: identity.public for name, identity in identities.items()})
    agents = [make_agent(agent_config(member)) for member in parsed.members]
    start = perf_counter()
    entry = sign_opening(identities["a"], opening, utc_now())
    await publish_opening(log, entry)
    replica = Replica(log, entry.room, entry.author, utc_now)
    await replica.open()
    following = asyncio.create_task(replica.follow())
    seats = [
        Seat(identities[name], agent, replica, MemoryOutbox(), utc_now)
        for name, agent in zip(parsed.names, agents, strict=True)
    ]
    await asyncio.gather(*(seat.run() for seat in seats))
    took = perf_counter() - start
    following.cancel()
    assert replica.room.ending is not None and replica.room.ending.outcome == "agreed"
    return took, replica.fold


async def floor(url: str, sizes: list[int], tag: str, *, at_once: int) -> float:
    """Return how long wire and signatures alone take for entries of these *sizes*, so many published *at_once*."""
    client = await nats.connect(url)
    stream = client.jetstream()
    received, everything = 0, asyncio.Event()

    async def count(_: Any) -> None:
        nonlocal received
        received += 1
        if received == 4 * len(sizes):
            everything.set()

    for _ in range(4):
        await client.subscribe(f"swarm.log.floor{tag}.>", cb=count)
    await client.flush()
    payloads = [b"x" * size for size in sizes]
    start = perf_counter()
    for first in range(0, len(payloads), at_once):
        wave = payloads[first : first + at_once]
        await asyncio.gather(*(stream.publish(f"swarm.room.floor{tag}.a{i}", data) for i, data in enumerate(wave)))
    await asyncio.wait_for(everything.wait(), 10)
    took = perf_counter() - start
    await client.close()

    key = Ed25519PrivateKey.generate()
    public = key.public_key()
    start = perf_counter()
    for payload in payloads:
        public.verify(key.sign(payload), payload)
    return took + perf_counter() - start


def fold_again(fold: Fold) -> float:
    """Return how long folding the records of *fold* once more takes: parsing, verifying and the rules."""
    records = [Stored(r.position, r.stored, r.author, r.payload) for r in fold.records]
    start = perf_counter()
    again = Fold.open(records[0], fold.chain.room)
    for record in records[1:]:
        again.add(record)
    took = perf_counter() - start
    assert again.chain.head == fold.chain.head
    return took


async def grown(entries: int) -> float:
    """Return the time per entry of folding a room whose members go on ticking until it holds *entries*."""
    log = MemoryLog()
    parsed = read_scenario(scenario() | {"rules": {"step_seconds": 3000, "improvements": 4}})
    identities = {name: Identity.new() for name in parsed.names}
    entry = sign_opening(identities["a"], parsed.opening({n: i.public for n, i in identities.items()}), utc_now())
    await publish_opening(log, entry)
    replica = Replica(log, entry.room, entry.author, utc_now)
    await replica.open()
    speakers = [Speaker(i, replica, MemoryOutbox(), utc_now, patience_s=5) for i in identities.values()]
    while replica.fold.chain.position < entries:
        for speaker in speakers:
            await speaker.say({"kind": "room.tick"})
    times = [fold_again(replica.fold) for _ in range(5)]
    return min(times) / replica.fold.chain.position


async def main() -> int:
    """Print the figures."""
    runs, floors, strict, folds, counts = [], [], [], [], []
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(Broker())
        log = await stack.enter_async_context(await JetStreamLog.connect(broker.url, identity=None, name="bench"))
        for index in range(ROUNDS):
            took, fold = await negotiate(log)
            sizes = [len(record.payload) for record in fold.records]
            runs.append(took)
            floors.append(await floor(broker.url, sizes, f"s{index}", at_once=1))
            strict.append(await floor(broker.url, sizes, f"w{index}", at_once=4))
            folds.append(fold_again(fold))
            counts.append(len(sizes))
    ratios = sorted(run / base for run, base in zip(runs, floors, strict=True))
    print(f"entries a run                     {counts[0]}, {sum(sizes) / len(sizes):,.0f} bytes on average")
    print(f"a run, median of {ROUNDS}               {1e3 * statistics.median(runs):7.1f} ms")
    print(f"its floor                         {1e3 * statistics.median(floors):7.1f} ms")
    print(f"of the run, folding               {1e3 * statistics.median(folds):7.1f} ms")
    low, high = ratios[0], ratios[-1]
    print(f"ratio run / floor                 {statistics.median(ratios):7.2f}    ({low:.2f}–{high:.2f}; aim {AIM})")
    wide = statistics.median(run / base for run, base in zip(runs, strict, strict=True))
    strict_ms = 1e3 * statistics.median(strict)
    print(f"ratio to the stricter floor       {wide:7.2f}    ({strict_ms:.1f} ms, four at a time)")
    small, large = await grown(200), await grown(2000)
    print(f"an entry in a room of 200         {1e6 * small:7.1f} µs")
    print(f"an entry in a room of 2,000       {1e6 * large:7.1f} µs    ratio {large / small:.2f} (aim 1.3)")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
