"""A second reading of the wire format: one file, the standard library and `cryptography`, nothing of this project.

    python verifier.py vectors FOLDER                 checks every vector in FOLDER
    python verifier.py ledger FILE [ROSTER]           checks an exported ledger; ROSTER has a line "name: key" a member

It prints what held and exits 0, or says what does not and exits 1. A ledger that a member contests, because it signed
another log and never this one, ends with 3. Of a ledger it checks all that needs no rules: form, signatures, the
authors' chains, the running head and what every entry signed of it, the room's name, the closing checkpoint, and which
reveals open their seals. It is written from docs/protocol, in the order of those pages.
"""

import base64
import json
import re
import sys
from functools import lru_cache
from hashlib import sha256, sha512
from pathlib import Path

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

LARGEST = 2**53 - 1
DEEPEST = 32
MOST_BYTES = 262_144
HEX = re.compile(r"[0-9a-f]{64}")
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.\d{6}Z", re.ASCII)
ROOM = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?-[a-z2-7]{26}")
SMALL_ORDER = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Refused(Exception):
    """What is not as the protocol says; the first argument is a code, or a sentence."""


def need(holds, why):
    if not holds:
        raise Refused(why)


# -- canonical JSON -------------------------------------------------------------------------------------------------

ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def text_of(text):
    parts = []
    for character in text:
        point = ord(character)
        parts.append(ESCAPES.get(point) or (f"\\u{point:04x}" if point < 32 else character))
    return '"' + "".join(parts) + '"'


def units(key):
    """The UTF-16 code units of a key, by which keys are sorted."""
    data = key.encode("utf-16-be", "surrogatepass")
    return [data[i] << 8 | data[i + 1] for i in range(0, len(data), 2)]


def written(value, depth=0):
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is int:
        need(-LARGEST <= value <= LARGEST, "not_canonical")
        return str(value)
    if type(value) is str:
        return text_of(value)
    need(type(value) in (dict, list), "not_canonical")
    need(depth < DEEPEST, "too_deep")
    if type(value) is list:
        return "[" + ",".join(written(item, depth + 1) for item in value) + "]"
    keys = sorted(value, key=units)
    return "{" + ",".join(text_of(key) + ":" + written(value[key], depth + 1) for key in keys) + "}"


def canonical(value):
    return written(value).encode("utf-8")


def digest(value):
    return sha256(canonical(value)).hexdigest()


def nesting(text):
    depth = deepest = 0
    quoted = escaped = False
    for character in text:
        if quoted:
            escaped, quoted = character == "\\" and not escaped, character != '"' or escaped
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def strict(payload):
    """The value of canonical bytes, or the code of what is wrong with them."""
    need(len(payload) <= MOST_BYTES, "too_large")
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("not_json") from None
    need(nesting(text) <= DEEPEST, "too_deep")
    twice, constants, inexact = [], [], []

    def members(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            twice.append(pairs)
        return dict(pairs)

    def integer(digits):
        if len(digits) > 17 or abs(int(digits)) > LARGEST:
            inexact.append(digits)
            return 0
        return int(digits)

    try:
        value = json.loads(
            text,
            object_pairs_hook=members,
            parse_constant=constants.append,
            parse_float=inexact.append,
            parse_int=integer,
        )
    except ValueError:
        raise Refused("not_json") from None
    need(not constants, "not_json")
    need(not lone(value), "not_json")
    need(not twice, "duplicate_key")
    need(not inexact and canonical(value) == payload, "not_canonical")
    return value


def lone(value):
    if type(value) is str:
        return any(0xD800 <= ord(character) <= 0xDFFF for character in value)
    if type(value) is dict:
        return any(lone(key) or lone(item) for key, item in value.items())
    return type(value) is list and any(map(lone, value))


# -- keys, times, texts of bytes ------------------------------------------------------------------------------------


def crc16(data):
    """CRC-16/XMODEM."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def nkey(prefix, raw):
    data = prefix + raw
    return base64.b32encode(data + crc16(data).to_bytes(2, "little")).decode().rstrip("=")


def nkey_of_public(raw):
    return nkey(bytes([160]), raw)


def nkey_of_seed(raw):
    return nkey(bytes([144 | 160 >> 5, (160 & 31) << 3]), raw)


# The curve of RFC 8032, in affine coordinates: slow, and nobody else's. Ledgers' signatures are left to `cryptography`,
# which tests/vectors/wire/signatures.json holds to this.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
ZERO = (0, 1)


def plus(one, other):
    (x, y), (u, v) = one, other
    both = D * x * y * u * v
    return (x * v + y * u) * pow(1 + both, -1, P) % P, (y * v + x * u) * pow(1 - both, -1, P) % P


def times(number, point):
    total = ZERO
    while number:
        if number & 1:
            total = plus(total, point)
        point, number = plus(point, point), number >> 1
    return total


def point_of(raw):
    """The point that 32 bytes are, or None: y is below p, and x has a root."""
    number = int.from_bytes(raw, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    if x * x % P != square or (x == 0 and sign):
        return None
    return (P - x if x & 1 != sign else x), y


def bytes_of(point):
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


@lru_cache
def may_be_key(raw):
    point = point_of(raw)
    return point is not None and times(8, point) != ZERO


def challenge(r, key, message):
    return int.from_bytes(sha512(r + key + message).digest(), "little") % L


def verified_by_hand(key, message, signature):
    """Without cofactor: R is compared as bytes with S·B − h·A, and S is below L."""
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if not may_be_key(key) or s >= L:
        return False
    x, y = times(challenge(r, key, message), point_of(key))
    return bytes_of(plus(times(s, BASE), (-x % P, y))) == r


def public_key(text):
    need(re.fullmatch("U[A-Z2-7]{55}", text), "no public key")
    raw = base64.b32decode(text)[1:-2]
    need(nkey_of_public(raw) == text, "no public key")
    need(may_be_key(raw), "no public key")
    return Ed25519PublicKey.from_public_bytes(raw)


def unbase64url(text):
    need(re.fullmatch("[A-Za-z0-9_-]*", text), "no base64url")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    need(base64.urlsafe_b64encode(raw).decode().rstrip("=") == text, "no base64url")
    return raw


def signed(author, domain, plain, sig):
    """Whether `sig` is the author's over the domain, a zero byte and the canonical form of `plain`."""
    try:
        public_key(author).verify(unbase64url(sig), domain + b"\0" + canonical(plain))
    except (InvalidSignature, Refused):
        return False
    return True


def is_time(text):
    found = TIME.fullmatch(text)
    if not found:
        return False
    year, month, day, hour, minute, second = map(int, found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if year < 1 or not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59:
        return False
    return 1 <= day <= DAYS[month - 1] + (leap and month == 2)


# -- entries --------------------------------------------------------------------------------------------------------


def is_hex(value):
    return type(value) is str and HEX.fullmatch(value) is not None


def is_cost(cost):
    if (
        type(cost) is not dict
        or not cost
        or not cost.keys() <= {"tokens_in", "tokens_out", "calls", "model", "seconds"}
    ):
        return False
    for name in cost.keys() & {"tokens_in", "tokens_out", "calls"}:
        if type(cost[name]) is not int or cost[name] < 0:
            return False
    seconds, model = cost.get("seconds", "0"), cost.get("model", "")
    if type(model) is not str or len(model) > 200 or type(seconds) is not str:
        return False
    return re.fullmatch(r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?", seconds) is not None


def read_entry(payload):
    entry = strict(payload)
    needed = {"v", "room", "author", "n", "prev", "seen", "sent", "body", "sig"}
    need(type(entry) is dict and needed <= entry.keys() <= needed | {"cost"}, "bad_envelope")
    seen, body = entry["seen"], entry["body"]
    forms = (
        type(entry["v"]) is int and entry["v"] == 1,
        type(entry["room"]) is str and type(entry["author"]) is str,
        type(entry["n"]) is int and entry["n"] >= 1,
        entry["prev"] is None or is_hex(entry["prev"]),
        type(seen) is dict and seen.keys() == {"count", "head"},
        type(body) is dict and type(body.get("kind")) is str,
        type(entry["sent"]) is str and is_time(entry["sent"]),
        type(entry["sig"]) is str and re.fullmatch("[A-Za-z0-9_-]{85}[AQgw]", entry["sig"]) is not None,
        "cost" not in entry or is_cost(entry["cost"]),
    )
    need(all(forms), "bad_envelope")
    need(type(seen["count"]) is int and seen["count"] >= 0 and is_hex(seen["head"]), "bad_envelope")
    return entry


def entry_is_signed(entry):
    rest = {name: value for name, value in entry.items() if name != "sig"}
    return signed(entry["author"], b"swarm/entry/1", rest, entry["sig"])


# -- ids ------------------------------------------------------------------------------------------------------------


def room_name(author, body):
    text = base64.b32encode(sha256(canonical({"author": author, "body": body})).digest()).decode().lower()
    return body["slug"] + "-" + text[:26]


def next_head(head, position, stored, author, identifier):
    return digest([head, position, stored, author, identifier])


def seal_digest(room, author, step, nonce, content):
    return digest({"room": room, "author": author, "step": step, "nonce": nonce, "content": content})


def box_key(seed, room, author, step):
    info = b"\0".join([b"swarm/box/1", room.encode(), author.encode(), step.encode()])
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(seed)


def open_box(seed, room, step, sealed, box):
    author = nkey_of_public(Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())
    raw = unbase64url(box)
    plain = AESGCM(box_key(seed, room, author, step)).decrypt(raw[:12], raw[12:], sealed.encode())
    size = len(plain)
    held = plain.rstrip(b"\0")
    need(size >= 512 and size & (size - 1) == 0, "padding of the box")
    return strict(held)


def make_box(seed, room, step, sealed, start, held):
    author = nkey_of_public(Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())
    plain = canonical(held)
    size = next(size for size in (4096, 16384, 65536, 131072) if size >= len(plain))
    hidden = AESGCM(box_key(seed, room, author, step)).encrypt(
        start, plain + b"\0" * (size - len(plain)), sealed.encode()
    )
    return base64.urlsafe_b64encode(start + hidden).decode().rstrip("=")


def checkpoint_is_signed(inner):
    need(inner.keys() == {"by", "count", "head", "room", "sig"}, "a checkpoint's fields")
    need(type(inner["count"]) is int and inner["count"] >= 0 and is_hex(inner["head"]), "a checkpoint's fields")
    rest = {name: inner[name] for name in ("by", "count", "head", "room")}
    return signed(inner["by"], b"swarm/checkpoint/1", rest, inner["sig"])


def read_invitations(payload, author):
    need(len(payload) <= 8192, "too_large")
    lines = payload.split(b"\n")
    need(len(lines) <= 16, "bad_envelope")
    found = []
    for line in lines:
        plain = strict(line)
        inner = plain.get("invitation") if type(plain) is dict and plain.keys() == {"invitation"} else None
        need(type(inner) is dict and inner.keys() == {"by", "opener", "room", "sig"}, "bad_envelope")
        need(all(type(value) is str for value in inner.values()) and ROOM.fullmatch(inner["room"]), "bad_envelope")
        need(inner["by"] == inner["opener"] == author, "bad_envelope")
        rest = {name: inner[name] for name in ("by", "opener", "room")}
        need(signed(author, b"swarm/invitation/1", rest, inner["sig"]), "bad_signature")
        found.append(inner["room"])
    return found


# -- names ----------------------------------------------------------------------------------------------------------

NAMES = Path(__file__).resolve().parents[3] / "protocols" / "core" / "names.txt"
"""The table is a part of the protocol; docs/protocol/names.md says how it is read."""


class Names:
    """The table of names, and what follows from it."""

    def __init__(self, text):
        _, *sections = re.split(r"^\[([a-z]+)\]$", text, flags=re.MULTILINE)
        self.words = {title: body.split() for title, body in zip(sections[::2], sections[1::2], strict=True)}
        self.allowed = {c for word in self.words["allowed"] for c in self.span(word)}
        self.classes = {c: int(number) for number, c in self.given("classes")}
        self.decomposed = dict((c, self.text(made)) for made, c in self.given("decomposed"))
        self.composed = {made: c for c, made in self.decomposed.items()}
        self.alike = {c: self.text(other) for other, c in self.given("alike")}
        self.folded = {c: self.text(other) for other, c in self.given("folded")}

    @staticmethod
    def span(word):
        first, _, last = word.partition("-")
        return [chr(point) for point in range(int(first, 16), int(last or first, 16) + 1)]

    @staticmethod
    def text(word):
        return "".join(chr(int(point, 16)) for point in word.split("+"))

    def given(self, title):
        for word in self.words[title]:
            left, right = word.split("=")
            for each in right.split(","):
                for character in self.span(each):
                    yield left, character

    def rank(self, character):
        return self.classes.get(character, 0)

    def ordered(self, text):
        characters = list(text)
        for end in range(len(characters)):
            place = end
            while place and 0 < self.rank(characters[place]) < self.rank(characters[place - 1]):
                characters[place - 1 : place + 1] = characters[place], characters[place - 1]
                place -= 1
        return "".join(characters)

    def apart(self, text):
        while any(character in self.decomposed for character in text):
            text = "".join(self.decomposed.get(character, character) for character in text)
        return self.ordered(text)

    def together(self, text):
        made = ""
        for character in text:
            starters = [place for place, each in enumerate(made) if self.rank(each) == 0]
            if starters:
                last = starters[-1]
                between = [self.rank(each) for each in made[last + 1 :]]
                joined = self.composed.get(made[last] + character)
                if joined and not any(rank == 0 or rank >= self.rank(character) for rank in between):
                    made = made[:last] + joined + made[last + 1 :]
                    continue
            made += character
        return made

    def is_name(self, text):
        spaced = text.startswith(" ") or text.endswith(" ") or "  " in text
        return not spaced and set(text) <= self.allowed and self.together(self.apart(text)) == text

    def fold(self, text):
        return self.ordered("".join(self.folded.get(character, character) for character in self.apart(text)))

    def looks(self, text):
        seen = self.ordered("".join(self.alike.get(character, character) for character in self.apart(text)))
        seen = re.sub(" +", " ", seen).strip(" ")
        return re.sub("(?<=[ijl\u0307])\u0307", "", seen)


# -- a whole ledger -------------------------------------------------------------------------------------------------


class Room:
    """What the records of one room are checked against, one after the other."""

    def __init__(self, name):
        self.name = name
        self.roster = {}
        self.heads = ["0" * 64]
        self.chains = {}
        self.signed = {}
        self.against = []
        self.places = {}
        self.seals = {}
        self.opened = self.evidence = 0

    def add(self, number, stored, author, payload, as_entry):
        need(number == len(self.heads), f"position {number} is not {len(self.heads)}")
        need(is_time(stored), "stored is no time")
        try:
            entry = read_entry(payload)
            need(entry["room"] == self.name, "wrong_room")
            need(entry_is_signed(entry), "bad_signature")
        except Refused as refused:
            need(not as_entry, f"no entry of this room: {refused}")
            entry = None
        if number == 1:
            need(entry is not None and as_entry, "the first record is no entry")
            self.open(entry)
        need(author in self.chains, "its author is not on the roster")
        need((entry is not None) == as_entry, "raw bytes that are an entry")
        need(entry is None or entry["author"] == author, "another author's entry")
        identifier = sha256(payload).hexdigest()
        if entry is not None:
            self.follow(number, entry, identifier)
        self.heads.append(next_head(self.heads[-1], number, stored, author, identifier))

    def open(self, entry):
        body = entry["body"]
        need(body["kind"] == "room.open" and room_name(entry["author"], body) == self.name, "the room's name")
        need((entry["n"], entry["prev"], entry["seen"]["count"]) == (1, None, 0), "an opening is the first")
        self.roster = {member["name"]: member["key"] for member in body["roster"]}
        self.chains = {key: [] for key in self.roster.values()}
        need(entry["author"] in self.chains and len(self.chains) == len(body["roster"]), "the roster")

    def sign(self, author, count):
        self.signed[author] = max(self.signed.get(author, 0), count)

    def contested(self):
        """For each member that signed another log and never this one there or later: the first record in doubt."""
        found = {author for author, place in self.against if self.signed.get(author, 0) < place}
        names = {key: name for name, key in self.roster.items()}
        return {names[author]: self.signed.get(author, 0) + 1 for author in found}

    def follow(self, number, entry, identifier):
        author, n, seen = entry["author"], entry["n"], entry["seen"]
        said, places = self.chains[author], self.places.setdefault(author, [])
        if n <= len(said) and said[n - 1] == identifier:
            self.evidence += 1  # the same bytes again
            return
        follows = n == len(said) + 1 and entry["prev"] == (said[-1] if said else None)
        same = seen["count"] < number and self.heads[seen["count"]] == seen["head"]
        if same:
            self.sign(author, seen["count"])
        else:
            self.against.append((author, min(seen["count"], number)))
        if not follows:
            self.evidence += 1  # an equivocation or a gap: kept, and nothing follows from it
            self.against.append((author, places[n - 1] if n <= len(said) else number))
            return
        said.append(identifier)
        places.append(number)
        if not same:
            return
        body = entry["body"]
        if body["kind"] == "seal":
            self.seals.setdefault((entry["author"], body.get("step")), body.get("digest"))
        if body["kind"] == "reveal":
            step = str(body.get("step")).removesuffix("reveal") + "seal"
            made = seal_digest(self.name, entry["author"], step, body.get("nonce"), body.get("content"))
            self.opened += made == self.seals.get((entry["author"], step))


def check_ledger(data, roster=None):
    """Check the bytes of a ledger file; return what it holds."""
    need(data.endswith(b"\n"), "the last line is torn")
    first, *lines = data[:-1].split(b"\n")
    header = strict(first)
    need(type(header) is dict and header.keys() == {"ledger", "room"} and header["ledger"] == 1, "the header")
    room = Room(header["room"])
    need(len(lines) >= 2, "no record, or no checkpoint")
    for place, line in enumerate(lines[:-1], 1):
        try:
            record = json.loads(line)
            need(canonical(record) == line, "not canonical")
            if record.keys() == {"entry", "position", "stored"}:
                payload, author, as_entry = canonical(record["entry"]), record["entry"]["author"], True
            else:
                need(record.keys() == {"author", "position", "raw", "stored"}, "the fields of a record")
                payload, author, as_entry = base64.b64decode(record["raw"], validate=True), record["author"], False
                need(base64.b64encode(payload).decode() == record["raw"], "raw has another text")
            room.add(record["position"], record["stored"], author, payload, as_entry)
        except (Refused, ValueError, TypeError, KeyError, AttributeError) as error:
            raise Refused(f"record {place}: {error}") from error
    closing = strict(lines[-1])
    need(type(closing) is dict and closing.keys() == {"checkpoint"}, "the last line is no checkpoint")
    checkpoint = closing["checkpoint"]
    need(checkpoint_is_signed(checkpoint), "the signature under the checkpoint")
    need(checkpoint["room"] == room.name, "the checkpoint is of another room")
    need((checkpoint["count"], checkpoint["head"]) == (len(room.heads) - 1, room.heads[-1]), "the checkpoint's head")
    pins = roster or {}
    need(all(pins.get(name, key) == key for name, key in room.roster.items()), "the roster given has another key")
    if checkpoint["by"] in room.chains:
        room.sign(checkpoint["by"], checkpoint["count"])
    # Two members have signed so much, whoever stands behind the exporter's key.
    covered_to = sorted([0, 0, *room.signed.values()])[-2]
    return {
        "room": room.name,
        "records": len(room.heads) - 1,
        "head": room.heads[-1],
        "covered_to": covered_to,
        "exporter": next((name for name, key in room.roster.items() if key == checkpoint["by"]), None),
        "pinned": roster is not None and room.roster.keys() <= roster.keys(),
        "contested": room.contested(),
        "reveals": room.opened,
        "evidence": room.evidence,
    }


# -- vectors --------------------------------------------------------------------------------------------------------


def key_case(case):
    seed = bytes.fromhex(case["seed"])
    public = nkey_of_public(Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())
    return {"public": public, "seed_text": nkey_of_seed(seed)}


def canonical_case(case):
    data = canonical(json.loads(case["json"]))
    return {"bytes": data.hex(), "sha256": sha256(data).hexdigest()}


def refused_case(case):
    payload = bytes.fromhex(case["payload"])
    try:
        need(entry_is_signed(read_entry(payload)), "bad_signature")
    except Refused as refused:
        return {"code": str(refused)}
    return {"code": None}


def entry_case(case):
    """Sign the fields with the seed, and take the payload apart again."""
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["seed"]))
    plain = {name: case["fields"][name] for name in case["fields"]}
    plain["author"] = nkey_of_public(key.public_key().public_bytes_raw())
    message = b"swarm/entry/1\0" + canonical(plain)
    sig = base64.urlsafe_b64encode(key.sign(message)).decode().rstrip("=")
    payload = canonical(plain | {"sig": sig})
    need(entry_is_signed(read_entry(payload)), "bad_signature")
    return {"signed": message.hex(), "payload": payload.decode(), "id": sha256(payload).hexdigest()}


def signature_case(case):
    key, signature = bytes.fromhex(case["public"]), bytes.fromhex(case["signature"])
    message = b"swarm/entry/1\0" + bytes.fromhex(case["message"])
    held = verified_by_hand(key, message, signature)
    try:
        public_key(nkey_of_public(key)).verify(signature, message)
        need(held, "the library verifies what does not hold")
    except (InvalidSignature, Refused) as error:
        need(not held, f"the library refuses what holds: {error}")
    return {"key": "yes" if may_be_key(key) else "no", "held": "yes" if held else "no"}


def room_case(case):
    return {"name": room_name(case["author"], case["body"])}


def option_case(case):
    option = case["option"]
    said = {"offer": option.get("offer", {}), "commitments": option.get("commitments", [])}
    return {"id": digest(said if case["has_issues"] else said | {"title": option["title"]})}


def interpretation_case(case):
    """An interpretation always has its bounds and cases, and a case its values, be they empty."""
    said = {"bounds": {}, "cases": [], **case["interpretation"]}
    said["cases"] = [{"values": {}, **each} for each in said["cases"]]
    return {"id": digest({"term": case["term"], "interpretation": said})}


def reserve_case(case):
    return {"digest": digest({name: case[name] for name in ("room", "author", "reserve", "nonce")})}


def claim_case(case):
    said = {name: case[name] for name in ("room", "author", "text", "source")}
    return {"id": digest(said | {"from": sorted(case["from"])})}


def beacon_case(case):
    beacon = digest(case["nonces"])
    order = sorted(case["options"], key=lambda option: sha256(f"{beacon}:{option}".encode()).digest())
    return {"beacon": beacon, "order": order}


def name_case(case):
    table, text = Names(NAMES.read_text("ascii")), case["text"]
    lower = "".join(table.folded.get(character, character) for character in table.looks(table.fold(text)))
    return {"name": "yes" if table.is_name(text) else "no", "as_written": table.looks(text), "in_lower_case": lower}


def head_case(case):
    identifier = sha256(bytes.fromhex(case["payload"])).hexdigest()
    return {"after": next_head(case["before"], case["position"], case["stored"], case["author"], identifier)}


def seal_case(case):
    seed, step, room = bytes.fromhex(case["seed"]), case["step"], case["room"]
    author = nkey_of_public(Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())
    sealed = seal_digest(room, author, step, case["nonce"], case["content"])
    held = {"nonce": case["nonce"], "content": case["content"], "secret": case["secret"]}
    box = make_box(seed, room, step, sealed, bytes.fromhex(case["start"]), held)
    need(open_box(seed, room, step, sealed, box) == held, "the box does not open")
    return {"digest": sealed, "key": box_key(seed, room, author, step).hex(), "box": box}


def checkpoint_case(case):
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["seed"]))
    plain = {"by": nkey_of_public(key.public_key().public_bytes_raw())}
    plain |= {name: case[name] for name in ("room", "count", "head")}
    sig = key.sign(b"swarm/checkpoint/1\0" + canonical(plain))
    inner = plain | {"sig": base64.urlsafe_b64encode(sig).decode().rstrip("=")}
    need(checkpoint_is_signed(inner), "a checkpoint's signature")
    return {"line": canonical({"checkpoint": inner}).decode()}


def invitation_case(case):
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["seed"]))
    author = nkey_of_public(key.public_key().public_bytes_raw())
    lines = []
    for room in case["rooms"]:
        plain = {"by": author, "opener": author, "room": room}
        sig = base64.urlsafe_b64encode(key.sign(b"swarm/invitation/1\0" + canonical(plain))).decode().rstrip("=")
        lines.append(canonical({"invitation": plain | {"sig": sig}}))
    payload = b"\n".join(lines)
    need(read_invitations(payload, author) == case["rooms"], "the invitations")
    return {"payload": payload.decode()}


CASES = {
    "keys": key_case,
    "canonical": canonical_case,
    "refused": refused_case,
    "entries": entry_case,
    "signatures": signature_case,
    "rooms": room_case,
    "options": option_case,
    "interpretations": interpretation_case,
    "reserves": reserve_case,
    "claims": claim_case,
    "beacons": beacon_case,
    "names": name_case,
    "heads": head_case,
    "seals": seal_case,
    "checkpoints": checkpoint_case,
    "invitations": invitation_case,
}
"""For each file of vectors, what makes the expected of a case from its inputs."""


def check_vectors(folder):
    """Check every vector file of a folder; return how many vectors each holds."""
    counts = {}
    for part, make in CASES.items():
        cases = json.loads(Path(folder, f"{part}.json").read_text("utf-8"))
        for case in cases:
            try:
                made = make(case["input"])
            except (Refused, InvalidTag, ValueError, KeyError) as error:
                raise Refused(f"{part}: {case['name']}: {type(error).__name__}: {error}") from error
            need(made == case["expected"], f"{part}: {case['name']}: made {made}, expected {case['expected']}")
        need(cases, f"{part} holds no vector")
        counts[part] = len(cases)
    return counts


def read_roster(path):
    pairs = re.findall(r'^"?([^"\n:#]+)"?: *"?(U[A-Z2-7]{55})"?$', Path(path).read_text("utf-8"), re.MULTILINE)
    return dict(pairs)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "vectors":
        print(json.dumps(check_vectors(arguments[1])))
    elif len(arguments) in (2, 3) and arguments[0] == "ledger":
        roster = read_roster(arguments[2]) if len(arguments) == 3 else None
        shown = check_ledger(Path(arguments[1]).read_bytes(), roster)
        print(json.dumps(shown))
        sys.exit(3 if shown["contested"] else 0)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Refused as refused:
        sys.exit(f"refused: {refused}")
