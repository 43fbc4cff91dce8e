"""Seals bind without telling; boxes open for their own author only."""

import contextlib
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.core.canonical import canonical
from protocols.messages.room import seal_digest
from swarm.errors import BadEntry
from swarm.running.running import run
from swarm.signed import base64url
from swarm.signed.identity import Identity
from swarm.signed.sealing import INFO, SIZES, open_box, seal, size_class
from swarm.signed.sizes import MAX_PAYLOAD_BYTES

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
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
def test_the_size_of_a_box_is_one_of_a_few(length, hidden):
    """It tells of the answer's length only which of four sizes it needs, and nothing at all below 4,096 bytes."""
    secret = {"x": "s" * hidden} if hidden else None
    sealed = seal(ANN, ROOM, STEP, {"text": "t" * length}, secret)
    size = len(base64url.decode(sealed.box)) - OVERHEAD
    assert size in SIZES
    inside = len(canonical({"nonce": sealed.nonce, "content": sealed.content, "secret": secret}))
    assert size == size_class(inside) and inside <= size and (size == 4096 or size // 4 < inside)
    assert open_box(ANN, ROOM, STEP, sealed.digest, sealed.box).content == {"text": "t" * length}


def test_equal_answers_are_sealed_unalike():
    """Nothing of a sealed answer can be guessed and compared: nonce, digest and box differ every time."""
    first, second = seal(ANN, ROOM, STEP, {"a": 1}), seal(ANN, ROOM, STEP, {"a": 1})
    assert first.digest != second.digest and first.nonce != second.nonce
    assert base64url.decode(first.box)[:12] != base64url.decode(second.box)[:12]
    assert len(first.box) == len(second.box)


def test_a_size_holds_just_what_fits():
    """A size is left with the first byte that it has no room for, so that no box is larger than it need be."""
    assert size_class(0) == SIZES[0]
    for size, following in pairwise(SIZES):
        assert (size_class(size), size_class(size + 1)) == (size, following)
    assert size_class(SIZES[-1] + 1) == SIZES[-1] + 1


def test_the_largest_size_is_the_largest_power_of_two_that_an_entry_holds():
    """Nothing that could be sealed before it was padded is too large afterwards, but for what no entry holds anyway."""
    assert [n for n in range(9, 20) if (2**n + OVERHEAD) * 4 // 3 + 1 < MAX_PAYLOAD_BYTES - 2_000][-1] == 17
    assert SIZES[-1] == 2**17


def test_what_differs_within_a_class_cannot_be_told_apart():
    """Nothing public tells two answers of one class apart: neither the number of bytes, nor any that repeats."""
    content = {"scores": {"a": 1}, "reasons": {"a": "x"}}
    longer = {"scores": {"a": 100, "b": 7}, "reasons": {"a": "x" * 200}}
    seals = [seal(ANN, ROOM, STEP, each) for each in (content, content, longer)]
    assert len({len(canonical({"digest": s.digest, "box": s.box})) for s in seals}) == 1
    boxes = [base64url.decode(s.box) for s in seals]
    blocks = Counter(box[at : at + 16] for box in boxes for at in range(12, len(box), 16))
    assert max(blocks.values()) == 1


@pytest.mark.parametrize("name", ["deliberation", "haggling", "impasse", "mandate", "printer", "renewal"])
def test_answers_of_the_examples_are_all_of_one_size(name, tmp_path):
    """Of lengths a reader learns nothing before the reveals, promises and long rationales included."""
    ledger = tmp_path / "room.jsonl"
    run(EXAMPLES / f"{name}.yaml", memory=True, ledger=ledger)
    entries = [json.loads(line)["entry"] for line in ledger.read_bytes().splitlines()[1:-1]]
    boxes = [e["body"]["box"] for e in entries if e["body"]["kind"] == "seal"]
    assert boxes and {len(base64url.decode(box)) - OVERHEAD for box in boxes} == {4096}


def test_a_box_that_holds_something_else_is_unreadable():
    """One's own key over content of another form, from another program, is a finding and no crash."""
    key = ANN.derive(b"\0".join([INFO, ROOM.encode(), ANN.public.encode(), STEP.encode()]))
    for plain in (b"", b"null", b"[]", b"{}", b'{"nonce":"00"}', b"\xff", b"[" * 400):
        hidden = AESGCM(key).encrypt(bytes(12), plain.ljust(512, b"\0"), b"0" * 64)
        with pytest.raises(BadEntry) as caught:
            open_box(ANN, ROOM, STEP, "0" * 64, base64url.encode(bytes(12) + hidden))
        assert caught.value.code == "box_unreadable"


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
