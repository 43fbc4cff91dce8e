"""A million events over a hundred thousand instances: events a second, how the cost grows, and what stays in memory.

Machines differ and are shared, so the rate is also given as a share of a bare loop over the same lines that only
parses their JSON. Orders are paid, delivered in parts and checked; one in sixteen is never finished, so that windows
close and remedies come due. Lines are made in blocks outside the clock. ``--quick`` does a tenth.
"""

import gc
import json
import sys
import tracemalloc
from collections.abc import Iterator
from time import perf_counter

from protocols.commitments.tracker import Act, Tracker
from protocols.core.instants import SECOND, Instant, parse_instant, show_instant
from protocols.messages.commitments import CommitmentTerms, EventRule

EVENTS_AN_ORDER = 10
BLOCK = 10_000
START: Instant = parse_instant("2026-01-01T00:00:00Z")
TERMS = [
    {
        "id": "delivery",
        "debtor": "seller",
        "creditor": "buyer",
        "each": "order",
        "if": "paid(amount >= 10) by 2030-01-01T00:00:00Z",
        "then": "at least 7 delivered(quality = good) within 3 days of paid and checked within 5 days of paid",
    },
    {
        "id": "refund",
        "debtor": "seller",
        "creditor": "buyer",
        "each": "order",
        "if": "violated(delivery)",
        "then": "refunded within 10 days of violated(delivery)",
    },
]


def tracker() -> Tracker:
    made = Tracker(
        ["seller", "buyer"],
        {"paid": EventRule(by="buyer"), "delivered": EventRule(by="seller")},
        keeps_past=False,
        most_instances=None,
    )
    for terms in TERMS:
        made.declare(CommitmentTerms.model_validate(terms), assumed=True)
    return made


def lines(orders: int, gap: Instant, ids: bool = True) -> Iterator[str]:
    """Yield the history of *orders* orders, one event every *gap*; about 1,000 orders run at a time."""
    at, number = START, 0
    width = min(1_000, orders)
    for first in range(0, orders, width):
        for step in range(EVENTS_AN_ORDER):
            for order in range(first, min(first + width, orders)):
                at += gap
                number += 1
                line = {"at": show_instant(at), "order": str(order)}
                if ids:
                    line["id"] = f"r{number}"
                if step == 0:
                    line |= {"event": "paid", "by": "buyer", "amount": "19.90"}
                elif step == 9:
                    line |= {"event": "checked" if order % 16 else "forgotten", "by": "buyer"}
                else:
                    line |= {"event": "delivered", "by": "seller", "quality": "good" if step > 1 else "low"}
                yield json.dumps(line)


def act(line: dict[str, str], item: int) -> Act:
    at, by, event = parse_instant(line.pop("at")), line.pop("by"), line.pop("event")
    return Act(at, item, by, "report", report=line.pop("id", None), event=event, attributes=line)


def run(orders: int, gap: Instant) -> tuple[float, float, float, Tracker]:
    """Return the seconds that parsing takes, that parsing and tracking take, and that the last block took."""
    followed, item = tracker(), 0
    bare = whole = last = 0.0
    source = lines(orders, gap)
    while block := [line for line, _ in zip(source, range(BLOCK), strict=False)]:
        start = perf_counter()
        for line in block:
            json.loads(line)
        between = perf_counter()
        for line in block:
            item += 1
            followed.apply(act(json.loads(line), item))
        end = perf_counter()
        bare, whole, last = bare + between - start, whole + end - between, end - between
    return bare, whole, last, followed


def speed(orders: int) -> float:
    bare, whole, _, followed = run(orders, 10 * SECOND)
    events = orders * EVENTS_AN_ORDER
    states: dict[str, int] = {}
    for status in followed.statuses().values():
        states[status.state] = states.get(status.state, 0) + 1
    told = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    rate, each, share = events / whole, whole / events * 1e6, bare / whole
    print(f"{events:>9,} events, {orders:>7,} orders: {rate:>7,.0f} events/s, {each:.1f} µs each")
    print(f"          {share:.2f} of only parsing ({bare / events * 1e6:.1f} µs); {told}")
    return whole / events


def memory(orders: int, rounds: int) -> None:
    """Say what a tracker holds after *rounds* more reports, without effect and without ids, on every open order."""
    tracemalloc.start()
    followed = tracker()
    at = START
    for item, line in enumerate(lines(orders, SECOND // 100, ids=False), 1):
        made = act(json.loads(line), item)
        at = max(at, made.at)
        followed.apply(made)
    for _ in range(rounds):
        for order in range(orders):
            at += 1
            followed.apply(Act(at, 0, "seller", "report", event="delivered", attributes={"order": str(order)}))
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    events = orders * (EVENTS_AN_ORDER + rounds)
    print(f"{events:>9,} events, {orders:>7,} orders, {len(followed.open()):>6,} open: {held / 2**20:.1f} MiB held")


def main() -> None:
    scale = 10 if "--quick" in sys.argv[1:] else 1
    run(10, SECOND)  # so that the grammar is read before the clock runs
    small = min(speed(1_000) for _ in range(3))
    large = speed(100_000 // scale)
    print(f"cost per event, large to small: {large / small:.2f}")
    memory(2_000, 0)
    memory(2_000, 40)
    memory(20_000 // scale, 0)


if __name__ == "__main__":
    main()
