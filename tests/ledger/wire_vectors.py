"""Makes the wire vectors from fixed keys: ``python -m tests.ledger.wire_vectors`` writes them anew."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from protocols.canonical import canonical
from protocols.messages import seal_digest
from swarm.entry import sign_entry
from swarm.identity import Identity
from swarm.ledger.checkpoint import sign_checkpoint
from swarm.sealing import seal
from tests.ledger.ledger_rooms import NOON, Table

FILE = Path(__file__).parent.parent / "vectors" / "wire.json"
CANONICAL: list[Any] = [
    {"b": 1, "a": [True, None, "x"], "": {}},
    {"€": 1, "\r": 2, "דּ": 3, "1": 4, "😀": 5, "\x80": 6, "ö": 7},
    {"\ue000": "private", "\U00010000": "beyond", "a": "\uffff"},
    '\x00\x1f"\\/\b\f\n\r\t\x7f\u2028\u2029é€😀',
    [0, -1, 9007199254740991, -9007199254740991],
    {"amount": "12.50", "at": "2026-11-30T12:00:00.000000Z"},
    [],
]
SEALED = {"scores": {"a": 90, "b": 10}, "note": "größer 🍜"}


def vectors() -> dict[str, Any]:
    """Return what the code makes today of everything but a box."""
    table = Table(salt="wire").finish()
    table.store(table.key("bob"), b"\xffnoise")
    table.say("cyd")
    ann = table.identities["ann"]
    opening = json.loads(table.opened.payload)
    cost = {"tokens_in": 7, "tokens_out": 9, "calls": 1, "model": "m", "seconds": "0.25"}
    spoken = sign_entry(
        ann,
        room=table.room,
        n=9,
        prev="ab" * 32,
        seen=(3, "cd" * 32),
        sent=NOON + 1,
        body=SEALED | {"kind": "x"},
        cost=cost,
    )
    return {
        "keys": [
            {"seed": seed.hex(), "public": Identity(seed).public}
            for seed in (sha256(f"wire/{name}".encode()).digest() for name in table.names)
        ],
        "canonical": [
            {"json": json.dumps(value), "bytes": canonical(value).hex(), "sha256": sha256(canonical(value)).hexdigest()}
            for value in CANONICAL
        ],
        "entries": [
            {"payload": entry.payload.decode(), "id": entry.id}
            for entry in [*(r.entry for r in table.fold.records if r.entry is not None), spoken]
        ],
        "room": {
            "slug": opening["body"]["slug"],
            "author": opening["author"],
            "body": opening["body"],
            "name": table.room,
        },
        "heads": {
            "records": [
                {"position": r.position, "stored": r.stored, "author": r.author, "payload": r.payload.hex()}
                for r in table.fold.records
            ],
            "heads": list(table.fold.chain.heads),
        },
        "seal": {
            "room": table.room,
            "author": ann.public,
            "step": "concord.ballot.1.seal",
            "nonce": "0f" * 32,
            "content": SEALED,
            "digest": seal_digest(table.room, ann.public, "concord.ballot.1.seal", "0f" * 32, SEALED),
        },
        "checkpoint": sign_checkpoint(
            ann, room=table.room, count=table.fold.chain.position, head=table.fold.chain.head
        ).plain(),
    }


def box() -> dict[str, Any]:
    """Return a box, which no two calls make alike."""
    seed = sha256(b"wire/ann").digest()
    sealed = seal(Identity(seed), "table-x", "accord.read.seal", SEALED, {"reserve": 40})
    return {
        "seed": seed.hex(),
        "room": "table-x",
        "step": "accord.read.seal",
        "digest": sealed.digest,
        "box": sealed.box,
        "nonce": sealed.nonce,
        "content": SEALED,
        "secret": {"reserve": 40},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps({**vectors(), "box": box()}, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
