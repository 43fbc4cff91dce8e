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
from typing import Any, NoReturn

from protocols.core.canonical import DEEPEST, LARGEST_INTEGER, canonical, canonical_of_exact
from protocols.core.instants import Instant, format_instant, parse_wire_instant
from swarm.errors import BadEntry, TooLarge
from swarm.signed import base64url
from swarm.signed.identity import Identity, verify
from swarm.signed.sizes import MAX_PAYLOAD_BYTES

DOMAIN = b"swarm/entry/1"
VERSION = 1
_REQUIRED = frozenset({"author", "body", "n", "prev", "room", "seen", "sent", "sig", "v"})
_SEEN = frozenset({"count", "head"})
_COSTS = frozenset({"tokens_in", "tokens_out", "calls"})
_HEX = re.compile(r"[0-9a-f]{64}")
_SECONDS = re.compile(r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?")
# The last of the 86 characters carries only two bits; with others allowed, one signature would have many texts.
SIGNATURE = re.compile(r"[A-Za-z0-9_-]{85}[AQgw]")
"""The 64 bytes of a signature in base64url."""
_SUFFIX = b'","v":1}'
_SIG_LENGTH = 86
_CUT = len(b',"sig":"') + _SIG_LENGTH + len(_SUFFIX)
_LONGEST_DIGITS = len(str(LARGEST_INTEGER)) + 1
# Possessive quantifiers: otherwise the engine would keep a hundred bytes for every character of a text.
_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _exact(digits: str) -> int:
    if len(digits) > _LONGEST_DIGITS or abs(number := int(digits)) > LARGEST_INTEGER:
        raise ValueError(digits)
    return number


_decode = json.JSONDecoder(parse_constant=_no_number, parse_float=_no_number, parse_int=_exact).decode


@dataclass(frozen=True, slots=True)
class Entry:
    """A parsed entry. ``n`` counts its author's entries in the room from 1; ``prev`` is the id of the previous one.

    ``seen_count`` and ``seen_head`` say how far the author had folded the room, and the running head there; ``sent`` is
    the author's own clock in microseconds; ``payload`` is the stored bytes.
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
    most_bytes: int = MAX_PAYLOAD_BYTES,
) -> Entry:
    """Return the entry that *identity* says.

    Raises ``ValueError`` if *body* has no canonical form, and `TooLarge` if the payload would exceed *most_bytes*.
    Nothing is signed in these cases, because a signature can be used against its author wherever it went.
    """
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
        if not _is_cost(cost):
            raise ValueError(f"cost: {_COST_FORM}")
        plain["cost"] = cost
    unsigned = canonical(plain)
    most, size = min(most_bytes, MAX_PAYLOAD_BYTES), len(unsigned) + len(b',"sig":""') + _SIG_LENGTH
    if size > most:
        raise TooLarge(f"the entry has {size} bytes; at most {most} can be said at once")
    signature = base64url.encode(identity.sign(DOMAIN, unsigned)).encode()
    payload = unsigned[: -len(b',"v":1}')] + b',"sig":"' + signature + _SUFFIX
    identifier = sha256(payload).hexdigest()
    return Entry(room, identity.public, n, prev, seen[0], seen[1], sent, body, cost, identifier, payload)


def parse_entry(payload: bytes) -> Entry:
    """Return the entry in the bytes *payload*, with its signature not yet verified, or raise `BadEntry`.

    The checks come in this order: size, depth, strict JSON (UTF-8, no duplicate keys, no NaN, no lone surrogate),
    canonical form (no number except integers), envelope. The code is the same in every process, however deep its stack.
    """
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise BadEntry("too_large", f"{len(payload)} bytes; an entry has at most {MAX_PAYLOAD_BYTES}")
    try:
        plain = _decode(payload.decode("utf-8"))
        shallow = payload.count(b"{") + payload.count(b"[") <= DEEPEST
        # Decoding loses a repeated key, so bytes that encode back to themselves contain none.
        same = (canonical_of_exact(plain) if shallow else canonical(plain)) == payload
    except (ValueError, RecursionError):
        same = False
    if not same:
        _refuse(payload)
    if type(plain) is not dict:
        raise BadEntry("bad_envelope", "an entry is a JSON object")
    return _envelope(plain, payload)


def _refuse(payload: bytes) -> NoReturn:
    """Raise `BadEntry` with the first reason why *payload* is not canonical JSON."""
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadEntry("not_json", f"not UTF-8: {error.reason} at byte {error.start}") from None
    if _nesting(text) > DEEPEST:
        raise BadEntry("too_deep", f"nested deeper than {DEEPEST}")
    found: dict[str, str] = {}

    def constant(name: str) -> int:
        found["not_json"] = f"{name} is no JSON"
        return 0

    def fraction(number: str) -> int:
        found["not_canonical"] = f"the number {brief(number)} is no integer; amounts are decimal strings"
        return 0

    def integer(digits: str) -> int:
        # Python refuses to read very long integers, and the limit is a setting of the process.
        if len(digits) > _LONGEST_DIGITS or abs(int(digits)) > LARGEST_INTEGER:
            found["not_canonical"] = f"the integer {brief(digits)} is beyond ±(2^53−1)"
        return 0

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(pairs)
        if len(plain) < len(pairs):
            found["duplicate_key"] = "one object holds a key twice"
        return plain

    decoder = json.JSONDecoder(
        parse_constant=constant, parse_float=fraction, parse_int=integer, object_pairs_hook=object_of
    )
    try:
        plain = decoder.decode(text)
    except ValueError as error:
        raise BadEntry("not_json", str(error)) from None
    if _SURROGATE.search(json.dumps(plain, ensure_ascii=False)):
        found["not_json"] = "text holds a lone surrogate, which has no UTF-8 form"
    for code in ("not_json", "duplicate_key", "not_canonical"):
        if code in found:
            raise BadEntry(code, found[code])
    raise BadEntry("not_canonical", "the bytes are not the canonical form (RFC 8785) of what they say")


def _nesting(text: str) -> int:
    depth = deepest = 0
    for token in _TOKENS.findall(text):
        if token in ("{", "["):
            depth += 1
            deepest = max(deepest, depth)
        elif token in ("}", "]"):
            depth -= 1
    return deepest


def brief(text: str, longest: int = 80) -> str:
    """Return *text* cut to *longest* characters: text that anybody may write must not fill our own messages."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


_COST_FORM = "tokens_in, tokens_out, calls as integers, model as text, seconds as decimal text"


def _envelope(plain: dict[str, Any], payload: bytes) -> Entry:
    keys = plain.keys()
    if not keys >= _REQUIRED or not keys <= _REQUIRED | {"cost"}:
        odd = brief(", ".join(sorted((keys ^ _REQUIRED) - {"cost"})[:8]))
        raise BadEntry("bad_envelope", f"an entry has exactly {', '.join(sorted(_REQUIRED))}; look at {odd}")
    seen = plain["seen"]
    problem = None
    if type(plain["v"]) is not int or plain["v"] != VERSION:
        problem = f"v: only version {VERSION} is known"
    elif type(plain["room"]) is not str or type(plain["author"]) is not str:
        problem = "room and author are text"
    elif type(plain["n"]) is not int or plain["n"] < 1:
        problem = "n: a counter from 1"
    elif not (plain["prev"] is None or _is_hex(plain["prev"])):
        problem = "prev: an id, or null"
    elif type(seen) is not dict or seen.keys() != _SEEN:
        problem = "seen: count and head"
    elif type(seen["count"]) is not int or seen["count"] < 0 or not _is_hex(seen["head"]):
        problem = "seen: a count and a head"
    elif type(plain["body"]) is not dict or type(plain["body"].get("kind")) is not str:
        problem = "body: an object with its kind"
    elif type(plain["sent"]) is not str:
        problem = "sent: a time as text"
    elif type(plain["sig"]) is not str or SIGNATURE.fullmatch(plain["sig"]) is None:
        problem = "sig: 64 bytes as 86 characters of base64url"
    elif "cost" in plain and not _is_cost(plain["cost"]):
        problem = f"cost: {_COST_FORM}"
    if problem is not None:
        raise BadEntry("bad_envelope", problem)
    try:
        sent = parse_wire_instant(plain["sent"])
    except ValueError as error:
        raise BadEntry("bad_envelope", f"sent: {brief(str(error))}") from None
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
    model, seconds = value.get("model", ""), value.get("seconds", "0")
    return (
        all(type(value[key]) is int and value[key] >= 0 for key in _COSTS & value.keys())
        and type(model) is str
        and len(model) <= 200
        and type(seconds) is str
        and _SECONDS.fullmatch(seconds) is not None
    )


def is_signed(entry: Entry) -> bool:
    """Tell whether the entry's signature is its author's over the rest of its bytes."""
    payload = entry.payload
    # The form was checked before (see `SIGNATURE`), so the library's lenient decoder is strict here.
    signature = base64.urlsafe_b64decode(payload[-len(_SUFFIX) - _SIG_LENGTH : -len(_SUFFIX)] + b"==")
    return verify(entry.author, DOMAIN, payload[:-_CUT] + b',"v":1}', signature)
