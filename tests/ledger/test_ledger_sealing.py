"""Seals bind without telling; boxes open for their own author only."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.messages import seal_digest
from swarm import base64url
from swarm.errors import BadEntry
from swarm.identity import Identity
from swarm.sealing import open_box, seal

ANN, BOB = Identity(bytes(32)), Identity(bytes([1]) * 32)
ROOM, STEP = "table-aaaa", "concord.ballot.1.seal"
OVERHEAD = 12 + 16


def test_a_box_opens_for_its_author_room_step_and_digest_only():
    """Another member, another room, another step or another seal of one's own: unreadable."""
    sealed = seal(ANN, ROOM, STEP, {"scores": {"a": 1}}, {"reserve": 40})
    opened = open_box(ANN, ROOM, STEP, sealed.digest, sealed.box)
    assert (opened.nonce, opened.content, opened.secret) == (sealed.nonce, {"scores": {"a": 1}}, {"reserve": 40})
    second = seal(ANN, ROOM, STEP, {"scores": {"a": 1}}, {"reserve": 40})
    for identity, room, step, digest in (
        (BOB, ROOM, STEP, sealed.digest),
        (ANN, "table-bbbb", STEP, sealed.digest),
        (ANN, ROOM, "concord.ballot.2.seal", sealed.digest),
        (ANN, ROOM, STEP, second.digest),
    ):
        with pytest.raises(BadEntry) as caught:
            open_box(identity, room, step, digest, sealed.box)
        assert caught.value.code == "box_unreadable"


def test_every_bit_of_a_box_counts():
    """A box with one byte changed, cut short or written otherwise does not open."""
    sealed = seal(ANN, ROOM, STEP, {"a": 1})
    raw = base64url.decode(sealed.box)
    boxes = [base64url.encode(raw[:i] + bytes([raw[i] ^ 1]) + raw[i + 1 :]) for i in range(len(raw))]
    boxes += [base64url.encode(raw[:length]) for length in (0, 1, 11, 12, 27, 28, len(raw) - 1)]
    boxes += ["", "é", sealed.box + "=", sealed.box[:-1], sealed.box[:50] + "\n" + sealed.box[50:], sealed.box + "AAA"]
    for box in boxes:
        with pytest.raises(BadEntry) as caught:
            open_box(ANN, ROOM, STEP, sealed.digest, box)
        assert caught.value.code == "box_unreadable"


@given(st.integers(0, 9000), st.integers(0, 3000))
@settings(max_examples=60, deadline=None)
def test_the_size_of_a_box_is_a_power_of_two(length, hidden):
    """It tells the answer's length only to within a factor of two, and nothing at all below 512 bytes."""
    secret = {"x": "s" * hidden} if hidden else None
    sealed = seal(ANN, ROOM, STEP, {"text": "t" * length}, secret)
    size = len(base64url.decode(sealed.box)) - OVERHEAD
    assert size >= 512 and size & (size - 1) == 0
    assert size < 2 * (length + hidden + 200) or size == 512
    assert open_box(ANN, ROOM, STEP, sealed.digest, sealed.box).content == {"text": "t" * length}


def test_equal_answers_are_sealed_unalike():
    """Nothing of a sealed answer can be guessed and compared: nonce, digest and box differ every time."""
    first, second = seal(ANN, ROOM, STEP, {"a": 1}), seal(ANN, ROOM, STEP, {"a": 1})
    assert first.digest != second.digest and first.nonce != second.nonce
    assert base64url.decode(first.box)[:12] != base64url.decode(second.box)[:12]
    assert len(first.box) == len(second.box)


def test_the_digest_binds_author_room_step_nonce_and_content():
    """A reveal cannot be moved elsewhere or changed, in value or in type."""
    sealed = seal(ANN, ROOM, STEP, {"score": 1})
    assert seal_digest(ROOM, ANN.public, STEP, sealed.nonce, {"score": 1}) == sealed.digest
    for args in (
        ("table-bbbb", ANN.public, STEP, sealed.nonce, {"score": 1}),
        (ROOM, BOB.public, STEP, sealed.nonce, {"score": 1}),
        (ROOM, ANN.public, "concord.ballot.2.seal", sealed.nonce, {"score": 1}),
        (ROOM, ANN.public, STEP, "0" * 64, {"score": 1}),
        (ROOM, ANN.public, STEP, sealed.nonce, {"score": True}),
        (ROOM, ANN.public, STEP, sealed.nonce, {"score": "1"}),
    ):
        assert seal_digest(*args) != sealed.digest


@given(st.binary(max_size=100))
def test_base64url_has_one_text_for_one_value(raw):
    """Encoding and decoding are inverse, and no other text decodes to the same bytes."""
    text = base64url.encode(raw)
    assert base64url.decode(text) == raw and "=" not in text
    for other in (text + "=", text + "\n", " " + text, text + "A" * (1 if len(text) % 4 == 0 else 4)):
        with contextlib.suppress(ValueError):
            assert base64url.decode(other) != raw
    if len(raw) % 3:
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        with pytest.raises(ValueError):
            base64url.decode(text[:-1] + alphabet[alphabet.index(text[-1]) + 1])
