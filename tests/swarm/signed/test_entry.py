"""Canonical bytes, and entries from signing to reading: one text for one meaning, and only our own errors."""

import json

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.core.canonical import LARGEST_INTEGER, canonical
from swarm.errors import BadEntry, TooLarge
from swarm.signed.entry import is_signed, parse_entry, sign_entry
from swarm.signed.identity import Identity
from swarm.signed.sizes import MAX_PAYLOAD_BYTES
from tests.support.signed_rooms import NOON

ANN = Identity(bytes(range(32)))
integers = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
texts = st.text(st.characters(exclude_categories=["Cs"]))
# Keys on both sides of the place where UTF-16 and code points order differently.
keys = texts | st.text(st.sampled_from("a\x7f\x80\ud7ff\ue000\uffff\U00010000\U0010ffff".replace("\ud7ff", "\ud7fe")))
values = st.recursive(
    st.none() | st.booleans() | integers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(values)
@example({"\ue000": 1, "\U00010000": 2})
@example({"\uffff": [{"\U0010ffff": 1, "\ue000": 2}]})
@example('\x00\x1f"\\/\b\f\n\r\t\x7f\u2028')
@example("\U00010000 beyond, in a value")
def test_canonical_bytes_are_those_of_rfc_8785(value):
    """The fast encoder agrees with the reference, keys beyond the basic plane included."""
    assert canonical(value) == rfc8785.dumps(value)
    assert json.loads(canonical(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        float("nan"),
        float("inf"),
        [0.5],
        {"a": {"b": 1e3}},
        LARGEST_INTEGER + 1,
        -LARGEST_INTEGER - 1,
        10**5000,
        "\ud83d",
        {"\udc00": 1},
        {"a": "\ud83d", "\U00010000": 1},
        {1: 2},
        {None: 1},
        {True: 1},
        b"bytes",
        {1, 2},
        object(),
        type("Text", (str,), {})("a subclass"),
        type("Number", (int,), {})(1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_exact_has_no_canonical_form(value):
    """Floats, great integers, lone surrogates and Python's own types are refused by ``ValueError``, deep or not."""
    for wrapped in (value, [value], {"a": [value]}):
        with pytest.raises(ValueError):
            canonical(wrapped)


def test_nesting_has_a_limit_that_is_ours():
    """Thirty-two levels pass, thirty-three are a ``ValueError``, and so are a hundred thousand and a circle."""
    for depth, passes in ((32, True), (33, False), (100_000, False)):
        value: object = 1
        for _ in range(depth):
            value = [value]
        if passes:
            canonical(value)
        else:
            with pytest.raises(ValueError, match="deeper"):
                canonical(value)
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="deeper"):
        canonical(circle)


bodies = st.dictionaries(keys, values, max_size=4).map(lambda body: {**body, "kind": "x"})
costs = st.none() | st.fixed_dictionaries(
    {"calls": st.integers(0, 9)},
    optional={"model": st.text("ab", max_size=200), "seconds": st.sampled_from(["0", "1.5", "12"])},
)


@given(bodies, costs, st.integers(1, LARGEST_INTEGER), st.integers(0, LARGEST_INTEGER))
def test_what_is_signed_is_read_back_and_verifies(body, cost, n, count):
    """sign, parse and verify are one round trip for every body that has a canonical form."""
    prev = None if n == 1 else "ab" * 32
    entry = sign_entry(
        ANN, room="r", n=n, prev=prev, seen=(count, "cd" * 32), sent=NOON + n % 10**6, body=body, cost=cost
    )
    assert parse_entry(entry.payload) == entry and is_signed(entry)
    assert entry.payload == rfc8785.dumps(json.loads(entry.payload))


@given(st.data())
@settings(max_examples=300)
def test_a_changed_payload_is_refused_or_not_signed(data):
    """One byte changed, dropped or added: our own error, or a signature that does not hold."""
    payload = bytearray(
        sign_entry(ANN, room="r", n=1, prev=None, seen=(0, "0" * 64), sent=NOON, body={"kind": "é"}).payload
    )
    place = data.draw(st.integers(0, len(payload) - 1))
    change = data.draw(st.sampled_from(["set", "drop", "add"]))
    value = data.draw(st.integers(0, 255))
    if change == "set":
        payload[place] = value if value != payload[place] else value ^ 1
    elif change == "drop":
        del payload[place]
    else:
        payload.insert(place, value)
    try:
        entry = parse_entry(bytes(payload))
    except BadEntry:
        return
    assert not is_signed(entry)


JSON_LIKE = st.recursive(
    st.sampled_from([b"1", b"-0", b"1.5", b"NaN", b'"a"', b'"\\ud800"', b"null", b"9" * 400, b'"\xff"', b"", b"tru"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: b"[" + b",".join(items) + b"]")
        | st.lists(inner, max_size=3).map(lambda items: b"{" + b",".join(b'"k":' + item for item in items) + b"}")
    ),
    max_leaves=8,
)


@given(st.binary(max_size=200) | JSON_LIKE)
def test_any_bytes_raise_only_our_error(payload):
    """Whatever lies on a subject is judged with a code of the table; nothing else escapes."""
    from protocols.core.findings import CODES

    with pytest.raises(BadEntry) as caught:
        parse_entry(payload)
    assert caught.value.code in CODES


@given(st.data())
def test_any_value_in_any_field_raises_only_our_error(data):
    """A canonical object with something odd in one field of the envelope is refused or read, never a crash."""
    plain = json.loads(
        sign_entry(ANN, room="r", n=1, prev=None, seen=(0, "0" * 64), sent=NOON, body={"kind": "x"}).payload
    )
    field = data.draw(st.sampled_from([*plain, "cost"]))
    lists = st.lists(texts, min_size=27, max_size=27)
    objects = st.lists(texts, min_size=27, max_size=27, unique=True).map(lambda names: dict.fromkeys(names, 1))
    plain[field] = data.draw(values | lists | objects)
    payload = canonical(plain)
    try:
        assert parse_entry(payload).payload == payload
    except BadEntry as refused:
        assert refused.code == "bad_envelope"


def test_an_entry_too_large_or_out_of_form_is_not_signed():
    """What no reader would take is refused before it is said."""
    fields = {"room": "r", "n": 1, "prev": None, "seen": (0, "0" * 64), "sent": NOON}
    with pytest.raises(TooLarge, match="at most"):
        sign_entry(ANN, **fields, body={"kind": "x", "text": "a" * MAX_PAYLOAD_BYTES})
    said = sign_entry(ANN, **fields, body={"kind": "x"})
    assert sign_entry(ANN, **fields, body={"kind": "x"}, most_bytes=len(said.payload)) == said
    with pytest.raises(TooLarge, match="at most"):
        sign_entry(ANN, **fields, body={"kind": "x"}, most_bytes=len(said.payload) - 1)
    with pytest.raises(ValueError, match="float"):
        sign_entry(ANN, **fields, body={"kind": "x", "score": 0.8})
    for cost in ({"seconds": "fast"}, {"calls": True}, {"price": "1"}, {"model": "m" * 201}):
        with pytest.raises(ValueError, match="cost"):
            sign_entry(ANN, **fields, body={"kind": "x"}, cost=cost)


def test_a_signature_has_one_text():
    """The two spare bits of its last character are zero, else anybody could make a second entry of a signed one."""
    payload = sign_entry(ANN, room="r", n=1, prev=None, seen=(0, "0" * 64), sent=NOON, body={"kind": "x"}).payload
    place = payload.index(b'","v":1}') - 1
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    verified = []
    for character in alphabet:
        changed = payload[:place] + bytes([character]) + payload[place + 1 :]
        try:
            if is_signed(parse_entry(changed)):
                verified.append(changed)
        except BadEntry:
            pass
    assert verified == [payload]
