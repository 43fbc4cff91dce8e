"""The wire format is written down as vectors, which a second implementation reads as we do."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from protocols.canonical import canonical, digest
from protocols.messages import room_name, seal_digest
from swarm.entry import is_signed, parse_entry, sign_entry
from swarm.identity import Identity
from swarm.ledger.chain import HEAD_0, next_head
from swarm.ledger.checkpoint import parse_checkpoint, sign_checkpoint
from swarm.sealing import open_box

FILE = Path(__file__).parent.parent / "vectors" / "wire.json"
VERIFIER = Path(__file__).parent / "wire_verifier.py"


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    return json.loads(FILE.read_text("utf-8"))


def test_an_independent_verifier_accepts_every_vector(vectors):
    """Whoever writes a second implementation from the description arrives at the same bytes."""
    done = subprocess.run([sys.executable, "-I", VERIFIER, FILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 30


@pytest.mark.parametrize("part", ["entries", "heads", "checkpoint", "seal", "room", "box", "canonical", "keys"])
def test_the_independent_verifier_refuses_a_changed_vector(part, vectors, tmp_path):
    """The verifier is no rubber stamp: a character changed in any part is refused."""
    changed = json.loads(json.dumps(vectors))
    match part:
        case "entries":
            changed[part][2]["payload"] = changed[part][2]["payload"].replace('"n":1', '"n":2')
        case "heads":
            changed[part]["records"][1]["stored"] += 1
        case "checkpoint":
            changed[part]["checkpoint"]["count"] += 1
        case "seal" | "room":
            changed[part]["author"] = vectors["keys"][1]["public"]
        case "box":
            changed[part]["step"] += "x"
        case "canonical":
            changed[part][0]["json"] = "{}"
        case "keys":
            changed[part][0]["seed"] = "00" * 32
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(changed), "utf-8")
    done = subprocess.run([sys.executable, "-I", VERIFIER, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and any(
        name in done.stderr for name in ("AssertionError", "InvalidSignature", "InvalidTag")
    )


def test_our_code_makes_the_same_canonical_bytes(vectors):
    """Canonical bytes and digests are those on record."""
    for case in vectors["canonical"]:
        value = json.loads(case["json"])
        assert (canonical(value).hex(), digest(value)) == (case["bytes"], case["sha256"])


def test_our_code_reads_and_signs_the_same_entries(vectors):
    """Each payload parses, verifies, has its id, and is what its author's key signs again."""
    keys = {key["public"]: Identity(bytes.fromhex(key["seed"])) for key in vectors["keys"]}
    assert all(identity.public == public for public, identity in keys.items())
    for case in vectors["entries"]:
        entry = parse_entry(case["payload"].encode())
        assert entry.id == case["id"] and is_signed(entry)
        fields = {name: getattr(entry, name) for name in ("room", "n", "prev", "sent", "body", "cost")}
        assert sign_entry(keys[entry.author], seen=(entry.seen_count, entry.seen_head), **fields) == entry


def test_our_code_makes_the_same_heads_and_names(vectors):
    """Running heads, room names, seal digests and checkpoints are those on record."""
    heads = [HEAD_0]
    for r in vectors["heads"]["records"]:
        identifier = sha256(bytes.fromhex(r["payload"])).hexdigest()
        heads.append(next_head(heads[-1], r["position"], r["stored"], r["author"], identifier))
    assert heads == vectors["heads"]["heads"]
    room, seal = vectors["room"], vectors["seal"]
    assert room_name(room["slug"], room["author"], room["body"]) == room["name"]
    assert seal_digest(seal["room"], seal["author"], seal["step"], seal["nonce"], seal["content"]) == seal["digest"]
    checkpoint = parse_checkpoint(vectors["checkpoint"])
    keys = {key["public"]: Identity(bytes.fromhex(key["seed"])) for key in vectors["keys"]}
    fields = {"room": checkpoint.room, "count": checkpoint.count, "head": checkpoint.head}
    assert checkpoint.is_signed() and sign_checkpoint(keys[checkpoint.by], **fields) == checkpoint


def test_our_code_opens_the_same_box(vectors):
    """A box written by an earlier version still opens."""
    box = vectors["box"]
    sealed = open_box(Identity(bytes.fromhex(box["seed"])), box["room"], box["step"], box["digest"], box["box"])
    assert (sealed.nonce, sealed.content, sealed.secret) == (box["nonce"], box["content"], box["secret"])
