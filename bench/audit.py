"""How fast an audit is, as a share of the bare rate at which its signatures verify; and how much memory it takes.

The floor is Ed25519 alone: the same signatures over the same bytes, keys at hand, nothing parsed. Two ledgers: a real
run of four with its sealed ballots, audited again and again, and one long room. Ratios are what counts: a machine's
absolute figures vary. Times are the process's own, so that others on the machine count less.
"""

import argparse
import base64
import gc
import json
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from statistics import median
from time import process_time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from protocols.duties.duties import JoinDuty
from protocols.messages.room import RoomOpen
from swarm.auditing.auditing import audit
from swarm.ledger.file import LedgerReader, write_ledger
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.running.running import run
from swarm.seat.opening import sign_opening
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import sign_entry
from swarm.signed.identity import Identity

SCENARIO = Path(__file__).parent.parent / "examples" / "renewal.yaml"
NOON = 1_796_040_000_000_000
ROUNDS = 7


def floor_of(ledger: Path) -> Callable[[], None]:
    """Return a function that verifies every signature of *ledger* and does nothing else."""
    signed = []
    for record in LedgerReader(ledger):
        if not record.entry:
            continue
        plain = json.loads(record.payload)
        signature = base64.urlsafe_b64decode(plain["sig"] + "==")
        message = b"swarm/entry/1\0" + record.payload[: -len(b',"sig":"","v":1}') - 86] + b',"v":1}'
        key = Ed25519PublicKey.from_public_bytes(base64.b32decode(plain["author"])[1:-2])
        signed.append((key, signature, message))

    def verify() -> None:
        for key, signature, message in signed:
            key.verify(signature, message)

    # The message is cut out anew here; the first verification shows that it was cut right.
    verify()
    return verify


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = process_time()
    work()
    return process_time() - start


def real_run(folder: Path) -> Path:
    path = folder / "real.jsonl"
    run(SCENARIO, memory=True, ledger=path)
    return path


def long_room(folder: Path, entries: int, *, silent: bool = False) -> Path:
    """Write a room of *entries* records by four members, who join and then report events, 1 KB each, or only tick.

    What is reported is part of a room's state and kept; a tick leaves nothing behind.
    """
    path = folder / f"{entries}.jsonl"
    identities = [Identity(sha256(b"%d" % number).digest()) for number in range(4)]
    opening = RoomOpen.model_validate(
        {
            "slug": "long",
            "intent": "Say a lot.",
            "roster": [{"name": f"m{i}", "key": identity.public} for i, identity in enumerate(identities)],
            "agenda": ["commitments"],
            "events": {"said": {}},
            "rules": {"watch_seconds": 86_400},
            "nonce": "0" * 64,
        }
    )
    opened = sign_opening(identities[0], opening, NOON)
    fold = Fold.open(Stored(1, NOON, opened.author, opened.payload), opened.room)
    for number in range(2, entries + 1):
        who = number % 4
        ids = fold.chain.authors[identities[who].public].ids
        body = {"kind": "event.report", "event": "said", "attributes": {"text": f"{number} " + "words " * 100}}
        if silent:
            body = {"kind": "room.tick"}
        for duty in fold.room.duties(f"m{who}"):
            if isinstance(duty, JoinDuty):
                manifest = {"agent": "bench"}
                body = {"kind": "room.join", "step": duty.step, "opening": duty.opening, "manifest": manifest}
        entry = sign_entry(
            identities[who],
            room=opened.room,
            n=len(ids) + 1,
            prev=ids[-1] if ids else None,
            seen=(fold.chain.position, fold.chain.head),
            sent=NOON + number,
            body=body,
        )
        fold.add(Stored(number, NOON + number, entry.author, entry.payload))
    chain = fold.chain
    checkpoint = sign_checkpoint(identities[0], room=chain.room, count=chain.position, head=chain.head)
    write_ledger(path, chain.room, fold.records, checkpoint)
    return path


def report(name: str, ledger: Path, *, times: int = 1) -> None:
    records = sum(1 for _ in LedgerReader(ledger))
    sizes = [len(record.payload) for record in LedgerReader(ledger)]
    verify = floor_of(ledger)
    # In turns, so that both see the machine as busy.
    turns = [
        (seconds(lambda: [audit(ledger) for _ in range(times)]), seconds(lambda: [verify() for _ in range(times)]))
        for _ in range(ROUNDS)
    ]
    checked, bare = (min(times_taken) / times / records for times_taken in zip(*turns, strict=True))
    ratio = median(bare / checked for checked, bare in turns)
    print(
        f"{name}: {records} records of {sum(sizes) // records} bytes, {1 / checked:,.0f} audited a second, "
        f"{1 / bare:,.0f} bare verifications: ratio {ratio:.2f}"
    )


def memory(ledger: Path) -> float:
    gc.collect()
    tracemalloc.start()
    audit(ledger)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def resident(ledger: Path) -> float:
    """Return the most memory, in MB, that a process of its own takes for auditing *ledger*, interpreter included."""
    script = (
        "import resource, sys; from swarm.auditing.auditing import audit; audit(sys.argv[1]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, ledger], capture_output=True, text=True, check=True)
    # Bytes on macOS, else kilobytes.
    return int(done.stdout) / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=5_000, help="records of the long room")
    parser.add_argument("--many", type=int, default=50_000, help="records of the room that memory is measured with")
    arguments = parser.parse_args()
    entries: int = arguments.entries
    many_entries: int = arguments.many
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report("a real run", real_run(folder), times=10)
        report("a long room", long_room(folder, entries))
        few, many = (memory(long_room(folder, count, silent=True)) for count in (entries // 10, entries))
        more = (many - few) * 1e6 / (entries - entries // 10)
        print(
            f"memory: peak {few:.1f} MB for {entries // 10} records, {many:.1f} MB for {entries}: {more:.0f} bytes each"
        )
        small, large = (long_room(folder, count, silent=True) for count in (many_entries // 10, many_entries))
        print(
            f"resident: {resident(small):.0f} MB for {many_entries // 10} records, {resident(large):.0f} MB for "
            f"{many_entries}, of a file of {large.stat().st_size / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    main()
