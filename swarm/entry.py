r"""The signed entry: one thing that one member says in one room, as the exact bytes that are stored.

The payload is the canonical form (RFC 8785) of one object, its signature included, and its id is the SHA-256 of those
bytes. The signature covers ``"swarm/entry/1\0"`` and the canonical bytes of everything else, which are the payload
with the member ``sig`` cut out: room, author, kind, step and the author's place in the log are all inside it.
"""

import base64
import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from protocols.canonical import DEEPEST, LARGEST_INTEGER, canonical
from protocols.instants import Instant, format_instant, parse_wire_instant
from swarm.errors import BadEntry
from swarm.identity import Identity, verify
from swarm.log.port import MAX_PAYLOAD_BYTES

DOMAIN = b"swarm/entry/1"
VERSION = 1
_REQUIRED = frozenset({"author", "body", "n", "prev", "room", "seen", "sent", "sig", "v"})
_COSTS = {"tokens_in", "tokens_out", "calls"}
_HEX = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[A-Za-z0-9_-]{86}")
_SUFFIX = b'","v":1}'
_SIG_LENGTH = 86
_CUT = len(b',"sig":"') + _SIG_LENGTH + len(_SUFFIX)
_decode = json.JSONDecoder().decode


@dataclass(frozen=True, slots=True)
class Entry:
    """A parsed entry. ``n`` counts its author's entries in the room from 1, ``prev`` is the id of the one before.

    ``seen_count`` and ``seen_head`` say how far the author had folded the room, and the running head there; ``sent``
    is the author's own clock in microseconds; ``payload`` are the stored bytes.
    """

    room: str
    author: str
    n: int
    prev: str | None
    seen_count: int
    seen_head: str
    sent: Instant
    body: dict[str, Any]
    cost: dict[str, Any] | None
    id: str
    payload: bytes

    @property
    def kind(self) -> str:
        """The kind of the body, as written."""
        return str(self.body.get("kind"))


def sign_entry(
    identity: Identity,
    *,
    room: str,
    n: int,
    prev: str | None,
    seen: tuple[int, str],
    sent: Instant,
    body: dict[str, Any],
    cost: dict[str, Any] | None = None,
) -> Entry:
    """Return the entry that *identity* says; raises ``ValueError`` if *body* has no canonical form."""
    plain: dict[str, Any] = {
        "author": identity.public,
        "body": body,
        "n": n,
        "prev": prev,
        "room": room,
        "seen": {"count": seen[0], "head": seen[1]},
        "sent": format_instant(sent),
        "v": VERSION,
    }
    if cost:
        plain["cost"] = cost
    unsigned = canonical(plain)
    signature = base64.urlsafe_b64encode(identity.sign(DOMAIN, unsigned)).rstrip(b"=")
    payload = unsigned[: -len(b',"v":1}')] + b',"sig":"' + signature + _SUFFIX
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ValueError(f"the entry has {len(payload)} bytes; at most {MAX_PAYLOAD_BYTES} can be said at once")
    identifier = sha256(payload).hexdigest()
    return Entry(room, identity.public, n, prev, seen[0], seen[1], sent, body, cost, identifier, payload)


def parse_entry(payload: bytes) -> Entry:
    """Return the entry whose bytes *payload* are, its signature not yet verified, or raise `BadEntry`.

    Checked in this order: size, strict JSON (UTF-8, no duplicate keys, no number beyond an integer), canonical form,
    envelope.
    """
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise BadEntry("too_large", f"{len(payload)} bytes; an entry has at most {MAX_PAYLOAD_BYTES}")
    plain = _strict(payload)
    return _envelope(plain, payload)


def _strict(payload: bytes) -> dict[str, Any]:
    try:
        plain = _decode(payload.decode("utf-8"))
        if type(plain) is not dict:
            raise BadEntry("not_json", "an entry is a JSON object")
        # A repeated key is lost in decoding, so bytes that come back the same hold none.
        if canonical(plain) == payload:
            return plain
    except RecursionError:
        raise BadEntry("too_deep", f"nested deeper than {DEEPEST}") from None
    except UnicodeDecodeError as error:
        raise BadEntry("not_json", f"not UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError as error:
        raise BadEntry(_code_of(error), str(error)) from None
    if _repeats_a_key(payload):
        raise BadEntry("duplicate_key", "one object holds a key twice")
    raise BadEntry("not_canonical", "the bytes are not the canonical form (RFC 8785) of what they say")


def _code_of(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return "not_json"
    return "too_deep" if "nested deeper" in str(error) else "not_canonical"


def _repeats_a_key(payload: bytes) -> bool:
    repeated = False

    def notice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        repeated = repeated or len({key for key, _ in pairs}) < len(pairs)
        return {}

    json.JSONDecoder(object_pairs_hook=notice).decode(payload.decode("utf-8"))
    return repeated


def _envelope(plain: dict[str, Any], payload: bytes) -> Entry:
    keys = plain.keys()
    if not keys >= _REQUIRED or not keys <= _REQUIRED | {"cost"}:
        odd = sorted((keys ^ _REQUIRED) - {"cost"})
        raise BadEntry("bad_envelope", f"an entry has exactly {', '.join(sorted(_REQUIRED))}; look at {', '.join(odd)}")
    seen = plain["seen"]
    problem = None
    if type(plain["v"]) is not int or plain["v"] != VERSION:
        problem = f"v: only version {VERSION} is known"
    elif type(plain["room"]) is not str or type(plain["author"]) is not str:
        problem = "room and author are text"
    elif type(plain["n"]) is not int or not 1 <= plain["n"] <= LARGEST_INTEGER:
        problem = "n: a counter from 1"
    elif not (plain["prev"] is None or _is_hex(plain["prev"])):
        problem = "prev: an id, or null"
    elif type(seen) is not dict or seen.keys() != {"count", "head"}:
        problem = "seen: count and head"
    elif type(seen["count"]) is not int or not 0 <= seen["count"] <= LARGEST_INTEGER or not _is_hex(seen["head"]):
        problem = "seen: a count and a head"
    elif type(plain["body"]) is not dict or type(plain["body"].get("kind")) is not str:
        problem = "body: an object with its kind"
    elif type(plain["sig"]) is not str or _SIGNATURE.fullmatch(plain["sig"]) is None:
        problem = "sig: 86 characters of base64url"
    elif "cost" in plain and not _is_cost(plain["cost"]):
        problem = "cost: tokens_in, tokens_out, calls as integers, model as text, seconds as decimal text"
    if problem is not None:
        raise BadEntry("bad_envelope", problem)
    try:
        sent = parse_wire_instant(plain["sent"])
    except (TypeError, ValueError) as error:
        raise BadEntry("bad_envelope", f"sent: {error}") from None
    return Entry(
        plain["room"],
        plain["author"],
        plain["n"],
        plain["prev"],
        seen["count"],
        seen["head"],
        sent,
        plain["body"],
        plain.get("cost"),
        sha256(payload).hexdigest(),
        payload,
    )


def _is_hex(value: Any) -> bool:
    return type(value) is str and _HEX.fullmatch(value) is not None


def _is_cost(value: Any) -> bool:
    if type(value) is not dict or not value or not value.keys() <= _COSTS | {"model", "seconds"}:
        return False
    counts = [value[key] for key in _COSTS & value.keys()]
    texts = [value[key] for key in ("model", "seconds") if key in value]
    return all(type(c) is int and c >= 0 for c in counts) and all(type(t) is str and len(t) <= 200 for t in texts)


def is_signed(entry: Entry) -> bool:
    """Tell whether the entry's signature is its author's over the rest of its bytes."""
    payload = entry.payload
    signature = base64.urlsafe_b64decode(payload[-len(_SUFFIX) - _SIG_LENGTH : -len(_SUFFIX)] + b"==")
    return verify(entry.author, DOMAIN, payload[:-_CUT] + b',"v":1}', signature)
