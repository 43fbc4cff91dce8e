"""A second reading of proofs, from their description: the standard library and cryptography only.

``python proof_verifier.py FILE`` prints what two signed texts prove of one key, a line each; it raises if that is
nothing. It imports nothing of this project.
"""

import base64
import json
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def canonical(value: object) -> bytes:
    """The canonical form of what holds no numbers but integers and no text beyond the basic plane."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def check(text: str) -> dict:
    """Verify one signed text; return signer, room, number (of an entry), count, head, and what was signed."""
    plain = json.loads(text)
    assert canonical(plain) == text.encode()
    domain = b"swarm/checkpoint/1" if "checkpoint" in plain else b"swarm/entry/1"
    said = dict(plain.get("checkpoint", plain))
    signature = base64.urlsafe_b64decode(said.pop("sig") + "==")
    signer = said.get("by") or said["author"]
    Ed25519PublicKey.from_public_bytes(base64.b32decode(signer)[1:-2]).verify(
        signature, domain + b"\0" + canonical(said)
    )
    seen = said.get("seen", said)
    place = {"signer": signer, "room": said["room"], "count": seen["count"], "head": seen["head"]}
    return {**place, "n": said.get("n"), "said": canonical(said)}


def main(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        proof = json.load(file)
    assert proof.keys() == {"proof", "signed"} and proof["proof"] == "swarm/equivocation/1"
    one, two = map(check, proof["signed"])
    assert one["signer"] == two["signer"] and one["room"] == two["room"]
    proved = []
    if one["n"] is not None and one["n"] == two["n"] and one["said"] != two["said"]:
        proved.append(f"number {one['n']}")
    if one["count"] == two["count"] and one["head"] != two["head"]:
        proved.append(f"count {one['count']}")
    assert proved, "the two do not exclude each other"
    return [f"{one['signer']} {each}" for each in proved]


if __name__ == "__main__":
    print("\n".join(main(sys.argv[1])))
    assert not {"swarm", "protocols", "agents", "rfc8785"} & sys.modules.keys()
