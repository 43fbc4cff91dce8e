"""Whatever stands on a log: bytes, entries and bodies of any form raise our own errors and leave the fold whole."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.core.canonical import canonical, canonical_of_exact
from protocols.core.findings import CODES
from protocols.messages.bodies import KINDS, parse_body
from swarm.errors import BadEntry
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.signed.entry import is_signed, parse_entry
from swarm.signed.invitation import read_invitations
from tests.support.fuzz_rooms import Script, look, look_back, retold, spoken, step_by_step, unsealed
from tests.support.fuzz_values import VALUES, changes, fuzzed, one_field_changed
from tests.support.signed_rooms import NOISE, Table
from tests.vectors.wire import verifier
from tests.vectors.wire.make import refusable

PAYLOADS = [*refusable().values(), *NOISE, Table().sign("ann", {"kind": "x"}).payload]
FRAGMENTS = [
    b"{",
    b"[",
    b'"',
    b"\\",
    b"\\u",
    b"\\ud83d",
    b":",
    b",",
    b"NaN",
    b"1e999",
    b"-",
    b"0" * 400,
    b"\xff",
    b"\0",
]


@st.composite
def payloads(draw: st.DrawFn) -> bytes:
    """Draw bytes: noise, or a payload with some of its bytes cut out, repeated, changed, or something put between."""
    if draw(st.booleans()):
        return draw(st.one_of(st.binary(max_size=60), VALUES.map(lambda value: json.dumps(value).encode())))
    payload = draw(st.sampled_from(PAYLOADS))
    for _ in range(draw(st.integers(0, 3))):
        first = draw(st.integers(0, len(payload)))
        last = draw(st.integers(first, min(len(payload), first + 40)))
        middle = draw(
            st.one_of(st.just(b""), st.sampled_from(FRAGMENTS), st.binary(max_size=4), st.just(payload[first:last] * 2))
        )
        payload = payload[:first] + middle + payload[last:]
    return payload


@fuzzed(short=400, long=200_000)
def test_bytes_are_an_entry_or_are_refused_by_a_code(examples: settings) -> None:
    """`parse_entry` raises `BadEntry` with a code of the table and nothing else; what it takes is canonical."""

    @examples
    @given(payloads())
    def holds(payload: bytes) -> None:
        try:
            entry = parse_entry(payload)
        except BadEntry as bad:
            assert bad.code in CODES and len(str(bad)) < 1_000
        else:
            assert canonical(json.loads(payload)) == payload
            is_signed(entry)

    holds()


@fuzzed(short=250, long=100_000)
def test_two_readers_of_bytes_come_to_one_code(examples: settings) -> None:
    """The verifier, which shares no line with us, refuses the same bytes with the same code."""

    @examples
    @given(payloads())
    def holds(payload: bytes) -> None:
        codes = []
        for read, error in ((parse_entry, BadEntry), (verifier.read_entry, verifier.Refused)):
            try:
                read(payload)
                codes.append(None)
            except error as bad:
                codes.append(getattr(bad, "code", str(bad)))
        assert codes[0] == codes[1]

    holds()


@fuzzed(short=200, long=100_000)
def test_two_writers_of_json_come_to_one_form(examples: settings) -> None:
    """Both ways of our canonical encoder, and the verifier's, give the same bytes for any value."""

    @examples
    @given(VALUES)
    def holds(value: Any) -> None:
        data = canonical(value)
        assert data == canonical_of_exact(value) == verifier.canonical(value)
        assert canonical(json.loads(data)) == data

    holds()


@fuzzed(short=150, long=50_000)
def test_an_invitation_is_one_or_is_refused(examples: settings) -> None:
    """What anybody leaves where an invited key looks raises `BadEntry` and nothing else."""

    @examples
    @given(st.one_of(payloads(), VALUES.map(lambda value: json.dumps({"invitation": value}).encode())))
    def holds(payload: bytes) -> None:
        with pytest.raises(BadEntry) as caught:
            read_invitations("U" * 56, payload)
        assert caught.value.code in CODES

    holds()


@pytest.fixture(scope="module")
def bodies(told: Script) -> dict[str, dict[str, Any]]:
    """Return one true body of every kind."""
    found = {saying.body["kind"]: saying.body for saying in reversed(told.said)}
    assert found.keys() == KINDS.keys()
    return found


@fuzzed(short=400, long=200_000)
def test_a_body_fits_its_model_or_is_refused_in_words(examples: settings, bodies: dict[str, dict[str, Any]]) -> None:
    """`parse_body` raises ``ValueError`` and nothing else; what it takes, of any kind, is written as it was read."""

    @examples
    @given(st.sampled_from(sorted(bodies)).flatmap(lambda kind: changes(bodies[kind])))
    def holds(plain: Any) -> None:
        if not isinstance(plain, dict):
            return
        try:
            body = parse_body(plain)
        except ValueError:
            return
        again = parse_body(body.plain())
        assert again == body and again.plain() == body.plain()
        canonical(body.plain())

    holds()


@fuzzed(short=70, long=20_000)
def test_a_room_bears_anything_that_a_member_signs(examples: settings, told: Script) -> None:
    """Whichever body of a room is changed in whatever way, and signed: the fold goes on, and every view of it works.

    What was sealed is sealed again with the change, so that contents get beyond their seals to the rules.
    """

    @examples
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(told.said) - 1))
        body = data.draw(changes(told.said[place].body))
        if not isinstance(body, dict) or type(body.get("kind")) is not str:
            return
        try:
            fold = retold(told, place, body, look)
        except BadEntry as bad:
            assert place == 0 and bad.code in CODES
            return
        look_back(fold)

    holds()


@pytest.mark.parametrize("all_ways", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_room_bears_every_field_of_every_body_changed(all_ways: bool, told: Script) -> None:
    """Field by field: whatever is said in a room, with any one field of it another, is taken or refused, never more.

    Each field in a third of the ways, other ones for the next; the long test in all.
    """
    turn = 0
    for fold, saying, said in step_by_step(told):
        neighbour = told.said[turn % len(told.said)].body
        for ways in one_field_changed(said, neighbour):
            turn += 1
            for _, body in ways if all_ways else ways[turn % 3 :: 3]:
                if type(body.get("kind")) is not str:
                    continue
                copy = deepcopy(fold)
                unsealed(copy, saying.author, body)
                assert copy.add(spoken(told, copy, saying, body, fold.chain.room)) is not None
                look(copy)
    assert turn > 400


@fuzzed(short=40, long=20_000)
def test_a_fold_bears_any_bytes_on_any_subject_at_any_time(examples: settings) -> None:
    """A broker may store anything, under any name, at any time: the fold takes it or leaves it."""

    @examples
    @given(
        st.lists(
            st.tuples(st.sampled_from(["ann", "bob", "cyd", ""]), payloads(), st.integers(-(2**62), 2**57)), max_size=4
        )
    )
    def holds(noise: list[tuple[str, bytes, int]]) -> None:
        table = Table()
        for name, payload, at in noise:
            author = table.key(name) if name else "swarm.>"
            stored = at % 253_402_300_799_999_999
            found = table.fold.add(Stored(len(table.log) + 1, stored, author, payload))
            assert (found is None) == (not name) or parse_of(payload) not in (None, author)
            look(table.fold)
        table.finish()
        look_back(table.fold)
        assert table.fold.room.ending is not None

    holds()


@fuzzed(short=150, long=20_000)
def test_a_fold_bears_any_envelope_that_a_member_signs(examples: settings) -> None:
    """Counters, ids, heads and times of any value under a true signature: placed in the chain or refused, by a code."""
    digests = st.sampled_from(["0" * 64, "ab" * 32])
    odd = st.fixed_dictionaries(
        {},
        optional={
            "n": st.integers(1, 5) | st.just(2**53 - 1),
            "prev": st.none() | digests,
            "seen": st.tuples(st.integers(0, 6) | st.just(2**53 - 1), digests),
            "sent": st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
            "room": st.sampled_from(["", "x" * 300]),
        },
    )

    @examples
    @given(st.lists(st.tuples(st.sampled_from(["ann", "bob", "cyd"]), odd), max_size=4))
    def holds(sayings: list[tuple[str, dict[str, Any]]]) -> None:
        table = Table()
        for name, fields in sayings:
            assert set(table.say(name, **fields)) <= set(CODES)
            look(table.fold)
        table.finish()
        look_back(table.fold)

    holds()


def parse_of(payload: bytes) -> str | None:
    """Return the author that *payload* names, if it is an entry of anybody."""
    try:
        return parse_entry(payload).author
    except BadEntry:
        return None


@fuzzed(short=100, long=20_000)
def test_a_room_opens_or_is_refused(examples: settings) -> None:
    """Any first record raises `BadEntry` or opens the room of its name; nothing else comes out of `Fold.open`."""

    @examples
    @given(payloads())
    def holds(payload: bytes) -> None:
        with pytest.raises(BadEntry) as caught:
            Fold.open(Stored(1, 0, "U" * 56, payload), "table-" + "a" * 26)
        assert caught.value.code in CODES

    holds()
