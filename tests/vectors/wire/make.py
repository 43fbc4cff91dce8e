"""Makes the wire vectors from fixed keys: ``python -m tests.vectors.wire.make`` writes them anew.

The inputs stand here. Every expected value is computed twice, by the project's code and by `verifier`, which shares no
line with it; nothing is written unless both come to the same. A format change shows as a change of these files.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from protocols.concord.selection import Ballot, select
from protocols.core.canonical import canonical, digest
from protocols.core.instants import parse_instant
from protocols.core.names import check_name, looks_of
from protocols.messages.accord import Interpretation, interpretation_id
from protocols.messages.claims import Claim, claim_id
from protocols.messages.concord import Option, option_id, reserve_digest
from protocols.messages.room import room_name
from swarm.errors import BadEntry
from swarm.ledger.chain import HEAD_0, next_head
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import DOMAIN, is_signed, parse_entry, sign_entry
from swarm.signed.identity import Identity, is_public_key, verify
from swarm.signed.invitation import sign_invitation
from swarm.signed.sealing import INFO, seal
from tests.support.signed_rooms import NOON, Table
from tests.vectors.wire import verifier

FOLDER = Path(__file__).parent
LARGEST = 2**53 - 1
SEEDS = {name: sha256(f"wire/{name}".encode()).digest() for name in ("ann", "bob", "cyd")}
KEYS = {name: Identity(seed) for name, seed in SEEDS.items()}
ROOM = "table-a2b3c4d5e6f7abcdefghijklmn"
CANONICAL: dict[str, Any] = {
    "members are sorted, whatever their order": {"b": 1, "a": [True, None, False, "x"], "": {}},
    "keys by UTF-16 code units (the RFC's own)": {"€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\x80": 6, "ö": 7},
    "an astral key sorts before U+E000": {"\ue000": "private", "\U00010000": "beyond", "a": "\uffff"},
    "astral keys among themselves": {"\U0010ffff": 1, "\U00010000": 2, "\ud7ff": 3, "\uffff": 4},
    "every escape, and what is not escaped": '\x00\x1f"\\/\b\f\n\r\t\x7f\u2028\u2029é€😀',
    "integers at their limits": [0, -1, LARGEST, -LARGEST],
    "amounts and times are text": {"amount": "12.50", "at": "2026-11-30T12:00:00.000000Z"},
    "nothing is normalised": {"é": "composed", "e\u0301": "decomposed"},
    "an empty list": [],
    "empty text": "",
    "thirty-two levels": json.loads("[" * 32 + "]" * 32),
    "brackets in text nest nothing": "[" * 40,
}
CONTENT = {"scores": {"a": 90, "b": 10}, "reasons": {"a": "größer 🍜"}}
COST = {"tokens_in": 7, "tokens_out": 9, "calls": 1, "model": "m", "seconds": "0.25"}


def _canonical() -> Iterator[dict[str, Any]]:
    for name, value in CANONICAL.items():
        data = canonical(value)
        expected = {"bytes": data.hex(), "sha256": sha256(data).hexdigest()}
        yield {"name": name, "input": {"json": json.dumps(value)}, "expected": expected}


def _keys() -> Iterator[dict[str, Any]]:
    for name, seed in {**SEEDS, "all zeros": bytes(32), "all ones": b"\xff" * 32}.items():
        identity = Identity(seed)
        expected = {"public": identity.public, "seed_text": identity._seed_text()}
        yield {"name": name, "input": {"seed": seed.hex()}, "expected": expected}


def _fields() -> dict[str, dict[str, Any]]:
    """Return what entries say, all but author and signature."""
    plain: dict[str, Any] = {
        "v": 1,
        "room": ROOM,
        "n": 1,
        "prev": None,
        "seen": {"count": 0, "head": HEAD_0},
        "sent": "2026-11-30T12:00:00.000000Z",
        "body": {"kind": "room.tick"},
    }
    later = {"n": 9, "prev": "ab" * 32, "seen": {"count": 12, "head": "cd" * 32}, "sent": "0001-01-01T00:00:00.000001Z"}
    body = {"kind": "event.report", "event": "größer\n🍜", "attributes": {"\U00010000": "1", "\ue000": "2"}}
    return {
        "the shortest": plain,
        "with a cost": plain | {"cost": COST},
        "a cost of one field": plain | {"cost": {"seconds": "0"}},
        "later, with text of all kinds": plain | later | {"body": body},
        "an integer at its limit": plain | {"n": LARGEST, "body": {"kind": "x", "value": -LARGEST}},
        "a kind that nobody knows": plain | {"body": {"kind": "", "list": [[], {}, None, True]}},
    }


def _entries() -> Iterator[dict[str, Any]]:
    for name, fields in _fields().items():
        seen = (fields["seen"]["count"], fields["seen"]["head"])
        said = {key: fields.get(key) for key in ("room", "n", "prev", "body", "cost")}
        entry = sign_entry(KEYS["ann"], seen=seen, sent=parse_instant(fields["sent"]), **said)
        assert parse_entry(entry.payload) == entry and is_signed(entry)
        message = DOMAIN + b"\0" + canonical(fields | {"author": KEYS["ann"].public})
        expected = {"signed": message.hex(), "payload": entry.payload.decode(), "id": entry.id}
        yield {"name": name, "input": {"seed": SEEDS["ann"].hex(), "fields": fields}, "expected": expected}


def refusable() -> dict[str, bytes]:
    """Return payloads that are no valid entry, each in one way, or in several of which one comes first."""
    good = sign_entry(KEYS["ann"], room=ROOM, n=1, prev=None, seen=(0, HEAD_0), sent=NOON, body={"kind": "x"}).payload
    plain = json.loads(good)

    def but(**changed: Any) -> bytes:
        kept = {name: value for name, value in {**plain, **changed}.items() if value is not ...}
        return canonical(kept)

    sig = plain["sig"]
    last = {"A": "B", "Q": "R", "g": "h", "w": "x"}[sig[-1]]
    return {
        "empty": b"",
        "not UTF-8": b'{"a":"\xff"}',
        "cut off": good[:-1],
        "two values": good + b"{}",
        "NaN": b'{"a":NaN}',
        "a lone surrogate": b'{"a":"\\ud83d"}',
        "thirty-three levels": b"[" * 33 + b"]" * 33,
        "deep and no JSON": b"[" * 10_000,
        "a key twice": good.replace(b'"n":1', b'"n":1,"n":1'),
        "a key twice, written differently": b'{"a":1,"\\u0061":1}',
        "a space": good.replace(b'"n":1', b'"n": 1'),
        "a newline at the end": good + b"\n",
        "a byte order mark": b"\xef\xbb\xbf" + good,
        "members in another order": b'{"b":1,"a":2}',
        "an escape that need not be": b'{"a":"\\u0041"}',
        "a fraction": b'{"a":1.5}',
        "an exponent": b'{"a":1e2}',
        "minus zero": b'{"a":-0}',
        "an integer beyond the limit": b'{"a":9007199254740992}',
        "an integer of 5,000 digits": b'{"a":' + b"7" * 5_000 + b"}",
        "no object": b"[]",
        "a field too many": but(extra=1),
        "a field too few": but(seen=...),
        "another version": but(v=2),
        "true as a version": but(v=True),
        "n from 0": but(n=0),
        "prev of another length": but(prev="ab"),
        "prev in capitals": but(prev="AB" * 32),
        "seen with a field too many": but(seen={"count": 0, "head": HEAD_0, "x": 1}),
        "a negative count": but(seen={"count": -1, "head": HEAD_0}),
        "sent without a fraction": but(sent="2026-11-30T12:00:00Z"),
        "sent with an offset": but(sent="2026-11-30T12:00:00.000000+01:00"),
        "sent on no day": but(sent="2026-02-29T12:00:00.000000Z"),
        "a leap second": but(sent="2026-06-30T23:59:60.000000Z"),
        "a body without a kind": but(body={}),
        "a body that is text": but(body="x"),
        "an empty cost": but(cost={}),
        "a cost of nobody's": but(cost={"money": 1}),
        "a cost below zero": but(cost={"calls": -1}),
        "seconds with an exponent": but(cost={"seconds": "1e3"}),
        "a padded signature": but(sig=sig + "=="),
        "a signature with spare bits": but(sig=sig[:-1] + last),
        "another signature": but(sig="A" * 86),
        "another body under it": but(body={"kind": "y"}),
        "a cost added to it": but(cost={"calls": 1}),
        "another's words under one's own key": but(author=KEYS["bob"].public),
        "an author that is no key": but(author="ann"),
    }


def _refused() -> Iterator[dict[str, Any]]:
    for name, payload in refusable().items():
        try:
            code = None if is_signed(parse_entry(payload)) else "bad_signature"
        except BadEntry as bad:
            code = bad.code
        yield {"name": name, "input": {"payload": payload.hex()}, "expected": {"code": code}}


def forged() -> Iterator[tuple[str, bytes, bytes, bytes]]:
    """Yield signatures at the edges: a name, the public key's bytes, the message and the signature."""
    v = verifier
    a, r = (int.from_bytes(sha256(text).digest(), "little") % v.L for text in (b"wire/a", b"wire/r"))
    torsion = v.point_of(bytes.fromhex(v.SMALL_ORDER))
    straight, mixed = v.bytes_of(v.times(a, v.BASE)), v.bytes_of(v.plus(v.times(a, v.BASE), torsion))
    honest, shifted = v.bytes_of(v.times(r, v.BASE)), v.bytes_of(v.plus(v.times(r, v.BASE), torsion))

    def made(r_bytes: bytes, key: bytes, message: bytes, nonce: int = r, more: int = 0) -> bytes:
        h = v.challenge(r_bytes, key, b"swarm/entry/1\0" + message)
        return r_bytes + ((nonce + h * a) % v.L + more).to_bytes(32, "little")

    def message_with(r_bytes: bytes, key: bytes, *, divides: bool) -> bytes:
        for number in range(1000):
            message = b"%d" % number
            if (v.challenge(r_bytes, key, b"swarm/entry/1\0" + message) % 8 == 0) is divides:
                return message
        raise AssertionError

    yield "an honest one", straight, b"x", made(honest, straight, b"x")
    yield "S plus L", straight, b"x", made(honest, straight, b"x", more=v.L)
    yield "S plus 8 L", straight, b"x", made(honest, straight, b"x", more=8 * v.L)
    yield "another message", straight, b"y", made(honest, straight, b"x")
    yield "R is zero, as bytes are", straight, b"x", made(v.bytes_of(v.ZERO), straight, b"x", 0)
    zero = (v.P + 1).to_bytes(32, "little")
    yield "R is zero, with y of p + 1", straight, b"x", made(zero, straight, b"x", 0)
    minus = (1 | 1 << 255).to_bytes(32, "little")
    yield "R is zero, with a sign", straight, b"x", made(minus, straight, b"x", 0)
    yield "R of order eight: holds with the cofactor only", straight, b"x", made(v.bytes_of(torsion), straight, b"x", 0)
    yield "R off by order eight: holds with the cofactor only", straight, b"x", made(shifted, straight, b"x")
    yield "R is no point", straight, b"x", made((2).to_bytes(32, "little"), straight, b"x")
    fits, differs = (message_with(honest, mixed, divides=divides) for divides in (True, False))
    yield "a key of mixed order, where both ways agree", mixed, fits, made(honest, mixed, fits)
    yield "a key of mixed order: holds with the cofactor only", mixed, differs, made(honest, mixed, differs)
    small = {"zero": v.ZERO, "of order two": (0, v.P - 1), "of order four": (v.ROOT, 0), "of order eight": torsion}
    for name, point in small.items():
        key = v.bytes_of(point)
        yield f"a key {name}, under which S = 0 fits", key, b"x", v.bytes_of(v.ZERO) + bytes(32)
    yield "a key with y of p + 1", zero, b"x", v.bytes_of(v.ZERO) + bytes(32)
    reduced = next(y for y in range(2, 19) if v.point_of(y.to_bytes(32, "little")))
    yield "a key that is reduced", reduced.to_bytes(32, "little"), b"x", bytes(64)
    yield "the same key, with p added to y", (reduced + v.P).to_bytes(32, "little"), b"x", bytes(64)
    yield "a key off the curve", (2).to_bytes(32, "little"), b"x", made(honest, straight, b"x")


def _signatures() -> Iterator[dict[str, Any]]:
    for name, key, message, signature in forged():
        text = verifier.nkey_of_public(key)
        expected = {
            "key": "yes" if is_public_key(text) else "no",
            "held": "yes" if verify(text, DOMAIN, message, signature) else "no",
        }
        said = {"public": key.hex(), "message": message.hex(), "signature": signature.hex()}
        yield {"name": name, "input": said, "expected": expected}


def _rooms() -> Iterator[dict[str, Any]]:
    for salt in ("wire", "wire, once more"):
        table = Table(salt=salt)
        body = json.loads(table.opened.payload)["body"]
        author = table.opened.author
        assert table.room == room_name(body["slug"], author, body)
        yield {"name": salt, "input": {"author": author, "body": body}, "expected": {"name": table.room}}


def _options() -> Iterator[dict[str, Any]]:
    promise = {
        "id": "table",
        "debtor": "bob",
        "creditor": "ann",
        "if": "agreed",
        "then": "booked within 5 days of agreed",
    }
    cases: dict[str, tuple[bool, dict[str, Any]]] = {
        "by its offer": (True, {"title": "Ten", "offer": {"discount": 10, "years": "2"}}),
        "the title does not matter": (
            True,
            {"title": "10 %", "offer": {"years": "2", "discount": 10}, "rationale": "!"},
        ),
        "text is not a number": (True, {"title": "Ten", "offer": {"discount": "10", "years": "2"}}),
        "with promises": (True, {"title": "Ten", "offer": {"discount": 10}, "commitments": [promise]}),
        "by its title, where there are no issues": (False, {"title": "Noodles"}),
    }
    for name, (has_issues, option) in cases.items():
        made = option_id(Option.model_validate(option), has_issues=has_issues)
        yield {"name": name, "input": {"option": option, "has_issues": has_issues}, "expected": {"id": made}}


def _interpretations() -> Iterator[dict[str, Any]]:
    case = {"text": "12 % off", "applies": False}
    cases: dict[str, dict[str, Any]] = {
        "words only": {"meaning": "At most ten minutes on foot."},
        "with a range": {"meaning": "Low.", "bounds": {"discount": {"max": "10.0", "unit": "%"}}},
        "a decimal with a zero less is another": {
            "meaning": "Low.",
            "bounds": {"discount": {"max": "10", "unit": "%"}},
        },
        "with a list and cases": {
            "meaning": "Low.",
            "bounds": {"colour": {"values": ["red", "blue"]}},
            "cases": [case, case | {"text": "15 % off", "values": {"discount": "15"}}],
        },
    }
    for name, said in cases.items():
        made = interpretation_id("near", Interpretation.model_validate(said))
        yield {"name": name, "input": {"term": "near", "interpretation": said}, "expected": {"id": made}}


def _reserves() -> Iterator[dict[str, Any]]:
    for name, reserve in (("forty", 40), ("zero", 0), ("none", None)):
        said = {"room": ROOM, "author": KEYS["ann"].public, "reserve": reserve, "nonce": "0f" * 32}
        made = reserve_digest(ROOM, KEYS["ann"].public, reserve, "0f" * 32)
        yield {"name": name, "input": said, "expected": {"digest": made}}


def _claims() -> Iterator[dict[str, Any]]:
    for name, source, origin in (
        ("observed", "observed", []),
        ("heard from a name and a claim", "heard", ["the mill's brochure", "0f" * 32]),
        ("derived, in any order", "derived", ["ab" * 32, "0f" * 32]),
    ):
        claim = Claim.model_validate(
            {"text": "The wood is dry.", "source": source, **({"from": origin} if origin else {})}
        )
        said = {"room": ROOM, "author": KEYS["ann"].public, "text": claim.text, "source": source, "from": origin}
        made = claim_id(ROOM, KEYS["ann"].public, claim, origin)
        yield {"name": name, "input": said, "expected": {"id": made}}


def _beacons() -> Iterator[dict[str, Any]]:
    options = [digest(letter) for letter in "abcd"]
    for name, nonces in (("of three", ["01" * 32, "02" * 32, "03" * 32]), ("of none", [])):
        beacon, left, order = digest(nonces), list(options), []
        while left:  # Options that are equal in everything else: the selection puts them in the beacon's order.
            ballots = {m: Ballot(dict.fromkeys(left, 50)) for m in KEYS}
            order.append(select(list(KEYS), left, ballots, beacon=beacon).standing)
            left.remove(order[-1])
        yield {
            "name": name,
            "input": {"nonces": nonces, "options": options},
            "expected": {"beacon": beacon, "order": order},
        }


NAMES = {
    "plain": "buyer 1",
    "of many scripts": "Zoë, 李雷, Иван, עדי, नेहा",
    "a lookalike of alice": "\u0430lice",
    "one as capitals only": "\u041cary",
    "digits for letters": "B0B 1",
    "m for rn": "mary",
    "sharp s": "Straße",
    "a dot on a dot": "\u0130",
    "an exponent": "m² x",
    "three marks on a letter": "n\u0323\u0324\u0301",
    "marks in their order": "x\u0323\u0301",
    "marks out of order": "x\u0301\u0323",
    "two characters for one": "e\u0301",
    "a mark that joins across another": "a\u0323\u0302",
    "a syllable": "\ud55c",
    "its parts": "\u1112\u1161\u11ab",
    "a space behind": "a ",
    "two spaces": "a  b",
    "nothing seen": "a\u200b",
    "a ligature": "\ufb01",
    "newer than the table": "\U0001fae9",
    "a control": "a\x7f",
    "marks that are ours": "✓ a → b",
}


def _names() -> Iterator[dict[str, Any]]:
    for name, text in NAMES.items():
        try:
            fits = check_name(text) == text
        except ValueError:
            fits = False
        as_written, in_lower_case = looks_of(text)
        expected = {"name": "yes" if fits else "no", "as_written": as_written, "in_lower_case": in_lower_case}
        yield {"name": name, "input": {"text": text}, "expected": expected}


def _heads() -> Iterator[dict[str, Any]]:
    table = Table(salt="wire").finish()
    table.store(table.key("bob"), b"\xffnoise")
    table.say("cyd")
    heads = list(table.fold.chain.heads)
    for before, record, after in zip(heads, table.fold.records, heads[1:], strict=False):
        stored = _time(record.stored)
        assert next_head(before, record.position, record.stored, record.author, record.id) == after
        said = {"before": before, "position": record.position, "stored": stored, "author": record.author}
        yield {
            "name": f"after record {record.position}",
            "input": said | {"payload": record.payload.hex()},
            "expected": {"after": after},
        }


def _time(instant: int) -> str:
    """Return *instant* as text by the standard library, not by ours."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _seals() -> Iterator[dict[str, Any]]:
    nonce, start = bytes([15]) * 32, bytes(range(12))
    overhead = len(canonical({"nonce": nonce.hex(), "content": {"t": ""}, "secret": None}))
    cases: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None]] = {
        "a ballot": ("concord.ballot.1.seal", CONTENT, None),
        "an option, with what stays secret": ("concord.option.seal", CONTENT, {"reserve": 40, "nonce": "ab" * 32}),
        "the last that fits 4,096 bytes": ("accord.meaning.seal", {"t": "x" * (4096 - overhead)}, None),
        "the first that does not": ("accord.meaning.seal", {"t": "x" * (4097 - overhead)}, None),
    }
    for name, (step, content, secret) in cases.items():
        drawn = iter((nonce, start))
        made = seal(KEYS["ann"], ROOM, step, content, secret, random_bytes=lambda _, drawn=drawn: next(drawn))
        info = b"\0".join([INFO, ROOM.encode(), KEYS["ann"].public.encode(), step.encode()])
        said = {"seed": SEEDS["ann"].hex(), "room": ROOM, "step": step, "nonce": nonce.hex(), "start": start.hex()}
        expected = {"digest": made.digest, "key": KEYS["ann"].derive(info).hex(), "box": made.box}
        yield {"name": name, "input": said | {"content": content, "secret": secret}, "expected": expected}


def _checkpoints() -> Iterator[dict[str, Any]]:
    for name, count, head in (("of nothing", 0, HEAD_0), ("after 19 records", 19, "cd" * 32)):
        made = sign_checkpoint(KEYS["bob"], room=ROOM, count=count, head=head)
        said = {"seed": SEEDS["bob"].hex(), "room": ROOM, "count": count, "head": head}
        yield {"name": name, "input": said, "expected": {"line": canonical(made.plain()).decode()}}


def _invitations() -> Iterator[dict[str, Any]]:
    for name, rooms in (("one", [ROOM]), ("two, the newest last", ["a-" + "2" * 26, ROOM])):
        lines = [sign_invitation(KEYS["cyd"], room=room, opener=KEYS["cyd"].public).line for room in rooms]
        expected = {"payload": b"\n".join(lines).decode()}
        yield {"name": name, "input": {"seed": SEEDS["cyd"].hex(), "rooms": rooms}, "expected": expected}


MAKERS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "keys": _keys,
    "canonical": _canonical,
    "refused": _refused,
    "entries": _entries,
    "signatures": _signatures,
    "rooms": _rooms,
    "options": _options,
    "interpretations": _interpretations,
    "reserves": _reserves,
    "claims": _claims,
    "beacons": _beacons,
    "names": _names,
    "heads": _heads,
    "seals": _seals,
    "checkpoints": _checkpoints,
    "invitations": _invitations,
}


def vectors(part: str) -> list[dict[str, Any]]:
    """Return what the project's code makes of the inputs of *part* today."""
    return list(MAKERS[part]())


def agreed(part: str) -> list[dict[str, Any]]:
    """Return the vectors of *part*, each of which the verifier computes alike; raise `AssertionError` otherwise."""
    made = vectors(part)
    for case in made:
        theirs = verifier.CASES[part](case["input"])
        assert theirs == case["expected"], f"{part}: {case['name']}: the verifier makes {theirs}"
    return made


if __name__ == "__main__":
    for part in MAKERS:
        text = json.dumps(agreed(part), indent=1, ensure_ascii=True)
        (FOLDER / f"{part}.json").write_text(text + "\n", encoding="utf-8")
