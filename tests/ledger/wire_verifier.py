"""A second reading of the wire format, written from its description: the standard library and cryptography only.

``python wire_verifier.py FILE`` checks every vector in FILE and prints how many held; it raises at the first that does
not. It imports nothing of this project.
"""

import base64
import binascii
import json
import sys
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def canonical(value: object) -> bytes:
    """RFC 8785 for values without floats, member by member."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return b"{" + b",".join(canonical(key) + b":" + canonical(item) for key, item in members) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(canonical, value)) + b"]"
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


def hexed(data: bytes) -> str:
    return sha256(data).hexdigest()


def base64url(text: str) -> bytes:
    raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    assert base64.urlsafe_b64encode(raw).decode().rstrip("=") == text
    return raw


def public_key(nkey: str) -> Ed25519PublicKey:
    data = base64.b32decode(nkey)
    assert len(data) == 35 and data[0] == 20 << 3
    assert binascii.crc_hqx(data[:-2], 0) == int.from_bytes(data[-2:], "little")
    return Ed25519PublicKey.from_public_bytes(data[1:-2])


def nkey(raw: bytes) -> str:
    data = bytes([20 << 3]) + raw
    return base64.b32encode(data + binascii.crc_hqx(data, 0).to_bytes(2, "little")).decode()


def stored_text(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def check(vectors: dict) -> int:
    checked = 0
    for key in vectors["keys"]:
        private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key["seed"]))
        assert nkey(private.public_key().public_bytes_raw()) == key["public"]
        checked += 1
    for case in vectors["canonical"]:
        data = canonical(json.loads(case["json"]))
        assert (data.hex(), hexed(data)) == (case["bytes"], case["sha256"])
        checked += 1
    for case in vectors["entries"]:
        payload = case["payload"].encode()
        entry = json.loads(payload)
        assert canonical(entry) == payload and hexed(payload) == case["id"]
        signature = base64url(entry.pop("sig"))
        public_key(entry["author"]).verify(signature, b"swarm/entry/1\0" + canonical(entry))
        checked += 1
    room = vectors["room"]
    number = sha256(canonical({"author": room["author"], "body": room["body"]})).digest()
    assert room["name"] == room["slug"] + "-" + base64.b32encode(number).decode().lower()[:26]
    head = "0" * 64
    assert vectors["heads"]["heads"][0] == head
    for record, after in zip(vectors["heads"]["records"], vectors["heads"]["heads"][1:], strict=True):
        identifier = hexed(bytes.fromhex(record["payload"]))
        place = [head, record["position"], stored_text(record["stored"]), record["author"], identifier]
        head = hexed(canonical(place))
        assert head == after
        checked += 1
    seal = dict(vectors["seal"])
    digest = seal.pop("digest")
    assert hexed(canonical(seal)) == digest
    checkpoint = dict(vectors["checkpoint"]["checkpoint"])
    signature = base64url(checkpoint.pop("sig"))
    assert checkpoint["head"] == head
    public_key(checkpoint["by"]).verify(signature, b"swarm/checkpoint/1\0" + canonical(checkpoint))
    check_box(vectors["box"])
    return checked + 4


def check_box(box: dict) -> None:
    seed = bytes.fromhex(box["seed"])
    author = nkey(Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())
    info = b"\0".join([b"swarm/box/1", box["room"].encode(), author.encode(), box["step"].encode()])
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(seed)
    raw = base64url(box["box"])
    plain = AESGCM(key).decrypt(raw[:12], raw[12:], box["digest"].encode())
    assert len(plain) == 512
    held = json.loads(plain.rstrip(b"\0"))
    assert held == {name: box[name] for name in ("nonce", "content", "secret")}
    said = {"room": box["room"], "author": author, "step": box["step"], "nonce": held["nonce"]}
    assert hexed(canonical({**said, "content": held["content"]})) == box["digest"]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(check(json.load(file)))
    assert not {"swarm", "protocols", "agents", "rfc8785"} & sys.modules.keys()
