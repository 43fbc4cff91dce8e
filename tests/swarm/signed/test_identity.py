"""Keys: known vectors, files that only their owner reads, and signatures that mean one thing only."""

import base64
import binascii
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.errors import BadInput
from swarm.signed.identity import Identity, is_public_key, verify

# The first pair is the worked example of the NATS documentation on nkeys; the second was made by the reference encoder
# of RFC 4648 and CRC-16/XMODEM from the raw seed 00 01 … 1f, whose public key is a vector of its own.
VECTORS = [
    (
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
    ),
    (
        "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y",
        "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK",
    ),
]


@pytest.mark.parametrize(("seed", "public"), VECTORS)
def test_seed_and_public_key_are_in_nkey_text(seed, public, tmp_path):
    identity = Identity.from_seed(seed)
    assert identity.public == public
    assert is_public_key(public)
    identity.save(tmp_path / "key")
    assert (tmp_path / "key").read_text() == seed + "\n"


def test_the_checksum_is_crc16_xmodem():
    assert binascii.crc_hqx(b"123456789", 0) == 0x31C3  # the check value of the catalogue of CRCs


def nkey(prefix: int, raw: bytes) -> str:
    body = bytes([prefix]) + raw
    return base64.b32encode(body + binascii.crc_hqx(body, 0).to_bytes(2, "little")).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "U",
        VECTORS[0][1][:-1],
        VECTORS[0][1] + "A",
        VECTORS[0][1].lower(),
        VECTORS[0][1] + "\n",
        VECTORS[0][0],
        VECTORS[0][1][:30] + ("A" if VECTORS[0][1][30] != "A" else "B") + VECTORS[0][1][31:],
        nkey(0, bytes(range(32))),  # an account's prefix
        "U" + nkey(0, bytes(range(32)))[1:],
        "\u0130" * 56,
    ],
)
def test_what_is_no_public_key_is_none_and_verifies_nothing(text):
    assert not is_public_key(text)
    assert not verify(text, b"d", b"m", bytes(64))


P = 2**255 - 19


@pytest.mark.parametrize("y", [0, 1, P - 1, P, P + 1])
@pytest.mark.parametrize("sign", [0, 1 << 255])
def test_a_key_that_anybody_could_sign_for_is_none(y, sign):
    """Under a point of small order one signature fits many messages: nobody is the author of what it signs."""
    assert not is_public_key(nkey(20 << 3, (y | sign).to_bytes(32, "little")))


@given(st.text(max_size=70))
def test_any_text_is_a_key_or_is_not(text):
    assert is_public_key(text) in (True, False)


def test_a_signature_holds_for_its_key_domain_and_message_only():
    ours, other = Identity.new(), Identity.new()
    signature = ours.sign(b"swarm/entry/1", b"message")
    assert verify(ours.public, b"swarm/entry/1", b"message", signature)
    assert not verify(other.public, b"swarm/entry/1", b"message", signature)
    assert not verify(ours.public, b"swarm/checkpoint/1", b"message", signature)
    assert not verify(ours.public, b"swarm/entry/1", b"massage", signature)
    assert not verify(ours.public, b"swarm/entry", b"1\0message", signature)
    for damaged in (b"", signature[:-1], signature + b"\0", bytes(64), signature[:32] + bytes(32)):
        assert not verify(ours.public, b"swarm/entry/1", b"message", damaged)


@pytest.mark.parametrize("domain", [b"", b"a\0b"])
def test_a_domain_is_unambiguous(domain):
    with pytest.raises(ValueError, match="domain"):
        Identity.new().sign(domain, b"m")


def test_a_nonce_is_signed_as_it_is():
    identity = Identity.from_seed(VECTORS[0][0])
    signature = identity.sign_nonce("Abc-_0123456789")
    assert signature == identity.sign_nonce(b"Abc-_0123456789")
    identity._key.public_key().verify(signature, b"Abc-_0123456789")


@pytest.mark.parametrize(
    "nonce",
    [
        "",
        "A" * 14,
        "A" * 16,
        "A" * 14 + "=",
        "A" * 14 + "\n",
        "swarm/entry/1\0{",
        "A" * 14 + "é",
        "\ud83d" * 15,
        b"\xff" * 15,
    ],
)
def test_anything_but_a_login_nonce_is_refused(nonce):
    with pytest.raises(BadInput, match="no login nonce"):
        Identity.new().sign_nonce(nonce)


def test_no_nonce_can_be_a_signed_message():
    """Whatever is signed for a purpose holds a zero byte, which no nonce of the accepted form does."""
    identity = Identity.new()
    for domain, message in ((b"A" * 14, b""), (b"A", b"B" * 13)):
        signed = domain + b"\0" + message
        assert len(signed) == 15
        with pytest.raises(BadInput):
            identity.sign_nonce(signed)


def test_derived_keys_differ_by_purpose_and_repeat():
    identity, other = Identity.from_seed(VECTORS[1][0]), Identity.new()
    key = identity.derive(b"x")
    # HKDF-SHA-256 (RFC 5869) with the seed as input, no salt, info "x".
    assert key.hex() == "2965d0b8feb239f8e888bae7da728027fe58afcb5c5ba7100ad0fb9dd65c39dc"
    assert identity.derive(b"x") == key
    assert len({key, identity.derive(b"y"), identity.derive(b"x", b"salt"), other.derive(b"x")}) == 4


def test_nothing_printed_shows_the_seed(tmp_path):
    seed = VECTORS[0][0]
    identity = Identity.from_seed(seed)
    assert "SU" not in repr(identity) and seed not in str(identity)
    bad = seed[:-1] + ("A" if seed[-1] != "A" else "B")
    (tmp_path / "key").write_text(bad)
    (tmp_path / "key").chmod(0o600)
    for read in (lambda: Identity.from_seed(bad), lambda: Identity.load(tmp_path / "key")):
        with pytest.raises(BadInput) as caught:
            read()
        assert bad[:20] not in str(caught.value)


def test_a_saved_key_is_the_owners_and_is_never_overwritten(tmp_path):
    path = tmp_path / "key"
    old = os.umask(0)
    try:
        identity = Identity.new()
        identity.save(path)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Identity.load(path).public == identity.public
    with pytest.raises(BadInput, match="never overwritten"):
        Identity.new().save(path)
    assert Identity.load(path).public == identity.public


def test_a_key_does_not_follow_a_link_that_somebody_laid(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput):
        Identity.new().save(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_that_others_can_read_is_refused_with_what_to_do(tmp_path, mode):
    path = tmp_path / "key"
    Identity.new().save(path)
    path.chmod(mode)
    with pytest.raises(BadInput, match="chmod 600"):
        Identity.load(path)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"SU", VECTORS[0][1].encode(), b"SA" + VECTORS[0][0][2:].encode(), b"x" * 9999]
)
def test_a_file_without_a_seed_is_named(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(BadInput) as caught:
        Identity.load(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_or_directory_is_named(tmp_path):
    with pytest.raises(BadInput, match="nowhere"):
        Identity.load(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="nowhere"):
        Identity.new().save(tmp_path / "nowhere" / "key")
