"""One key per member: Ed25519 in NATS nkey text, to log in at a broker and to sign what is said.

An nkey is base32 without padding of a prefix, the 32 raw bytes, and a CRC-16/XMODEM of both in little-endian order. A
user's public key begins with ``U``, its seed with ``SU``. The raw seed is the Ed25519 private key.

Everything that is signed includes its domain, so that no signature means anything elsewhere. A server's login nonce is
the one exception that the protocol demands; it is signed only if it has the form of one (see `Identity.sign_nonce`).
"""

import base64
import binascii
import os
import re
import stat
from functools import lru_cache
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from swarm.errors import BadInput

SIGNATURE_BYTES = 64

_PREFIX_USER = 20 << 3
_PREFIX_SEED = 18 << 3
_PUBLIC = re.compile(r"U[A-Z2-7]{55}")
_SEED = re.compile(r"SU[A-Z2-7]{56}")
# Eleven random bytes in base64url, as nats-server sends them. Every message of ours contains a zero byte after its
# domain, so it cannot have the form of a nonce. A server that asks for anything else may be after a signature.
_NONCE = re.compile(rb"[A-Za-z0-9_-]{15}")
_KNOWN_KEYS = 4096
# Points of small order: under such a key one signature fits many messages, so anybody could speak for it. They are
# given as y coordinates, for either sign.
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_Y8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = frozenset({0, 1, _P - 1, _Y8, _P - _Y8})
NO_KEY = "no public key: 56 characters that begin with U, for a reduced point of the curve that is not of small order"
"""What is said of a text that is read as a public key and is none; in an entry its code is ``bad_key``."""
_FILE_BYTES = 4096


def _encode(prefix: bytes, raw: bytes) -> str:
    body = prefix + raw
    checksum = binascii.crc_hqx(body, 0).to_bytes(2, "little")
    return base64.b32encode(body + checksum).decode("ascii").rstrip("=")


def _decode(text: str) -> bytes:
    """Return prefix and raw bytes; raise ``ValueError`` if *text* is not canonical base32 or fails its checksum."""
    data = base64.b32decode(text + "=" * (-len(text) % 8))
    body, checksum = data[:-2], data[-2:]
    if binascii.crc_hqx(body, 0).to_bytes(2, "little") != checksum:
        raise ValueError("the checksum is wrong: a character was changed or left out")
    # Unused bits of the last character must be zero; otherwise one key would have several texts.
    if base64.b32encode(data).decode("ascii").rstrip("=") != text:
        raise ValueError("the last character has bits that no key has")
    return body


@lru_cache(maxsize=_KNOWN_KEYS)
def _public_key(public: str) -> Ed25519PublicKey | None:
    if _PUBLIC.fullmatch(public) is None:
        return None
    try:
        body = _decode(public)
    except ValueError:
        return None
    if body[0] != _PREFIX_USER or not _is_point(body[1:]):
        return None
    try:
        return Ed25519PublicKey.from_public_bytes(body[1:])
    except ValueError:
        return None


def _is_point(raw: bytes) -> bool:
    """Tell whether *raw* is a point that a key may be: on the curve, y below p, not of small order.

    The library takes any 32 bytes for a key, and y as it is left by reduction: then one key would have two texts.
    """
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P or y in _SMALL_ORDER:
        return False
    # x² = (y² − 1) / (d·y² + 1), whose denominator is never 0; Euler's criterion tells whether there is a root.
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P)
    return pow(square, (_P - 1) // 2, _P) == 1


def is_public_key(text: str) -> bool:
    """Tell whether *text* is a user's public key in nkey text: form, prefix, checksum, and a point that may be one."""
    return _public_key(text) is not None


def verify(public: str, domain: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether *signature* is by *public* over *message* in *domain*; false if *public* is not a key.

    It is verified without cofactor and with S below L, by comparing R's bytes (docs/protocol/entries.md, "Signatures").
    """
    key = _public_key(public)
    if key is None:
        return False
    try:
        key.verify(signature, domain + b"\0" + message)
    except InvalidSignature:
        return False
    return True


class Identity:
    """A private key. Neither its ``repr`` nor any error of this class shows the seed.

    Example:
        >>> from swarm import Identity
        >>> len(Identity.new().public)
        56
    """

    __slots__ = ("_key", "_seed", "public")

    def __init__(self, seed: bytes) -> None:
        """Take 32 raw bytes; `new`, `from_seed` and `load` are the usual ways."""
        self._seed = seed
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public: str = _encode(bytes([_PREFIX_USER]), self._key.public_key().public_bytes_raw())
        """The public key in nkey text: 56 characters, the first of which is ``U``."""

    def __repr__(self) -> str:
        return f"Identity({self.public})"

    @classmethod
    def new(cls) -> Self:
        """Make a key from the system's random source."""
        return cls(os.urandom(32))

    @classmethod
    def from_seed(cls, text: str) -> Self:
        """Read a user's seed in nkey text (``SU…``); raise `BadInput` without repeating it."""
        text = text.strip(" \t\r\n")
        if _SEED.fullmatch(text) is None:
            raise BadInput("this is no user seed in nkey text: 58 characters that begin with SU")
        try:
            body = _decode(text)
        except ValueError as error:
            raise BadInput(f"this is no user seed in nkey text: {error}") from None
        # The seed prefix and the user prefix share two bytes: five bits of each, then the remaining three.
        if body[0] & 0xF8 != _PREFIX_SEED or ((body[0] & 7) << 5 | body[1] >> 3) != _PREFIX_USER:
            raise BadInput("this is the seed of something other than a user")
        return cls(body[2:])

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a key file.

        Raise `BadInput` if it is missing, contains no seed, or others than its owner may read it.
        """
        try:
            with path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                data = file.read(_FILE_BYTES)
        except OSError as error:
            raise BadInput(f"the key cannot be read: {error.strerror}", source=str(path)) from None
        if os.name == "posix" and mode & 0o077:
            raise BadInput(
                f"others can read this key (mode {mode:04o}); it must be 0600: chmod 600 {path}", source=str(path)
            )
        try:
            return cls.from_seed(data.decode("ascii"))
        except UnicodeDecodeError:
            raise BadInput("this is no key file: a key is one line of plain ASCII", source=str(path)) from None
        except BadInput as error:
            raise BadInput(error.message, source=str(path)) from None

    def save(self, path: Path) -> None:
        """Write the seed to a new file with mode 0600, and sync it; raise `BadInput` if the file exists."""
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise BadInput("there is such a file already; a key is never overwritten", source=str(path)) from None
        except OSError as error:
            raise BadInput(f"the key cannot be written: {error.strerror}", source=str(path)) from None
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(self._seed_text() + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            path.unlink(missing_ok=True)
            raise BadInput(f"the key cannot be written: {error.strerror}", source=str(path)) from None

    def _seed_text(self) -> str:
        prefix = bytes([_PREFIX_SEED | _PREFIX_USER >> 5, (_PREFIX_USER & 31) << 3])
        return _encode(prefix, self._seed)

    def sign(self, domain: bytes, message: bytes) -> bytes:
        """Return the 64 bytes of the signature over *domain*, a zero byte and *message*.

        A domain contains no zero byte itself, so the pair is unambiguous.
        """
        if not domain or b"\0" in domain:
            raise ValueError("a domain is at least one byte and holds no zero byte")
        return self._key.sign(domain + b"\0" + message)

    def sign_nonce(self, nonce: str | bytes) -> bytes:
        """Return the signature with which a NATS server lets this key log in.

        Raises `BadInput` unless *nonce* has the server's form, fifteen base64url characters: a hostile server could
        otherwise have an entry signed.
        """
        data = nonce.encode("utf-8", "surrogatepass") if isinstance(nonce, str) else nonce
        if _NONCE.fullmatch(data) is None:
            raise BadInput("the server asks for a signature over something that is no login nonce; refused")
        return self._key.sign(data)

    def derive(self, info: bytes, salt: bytes = b"") -> bytes:
        """Return 32 secret bytes from the seed for one purpose: HKDF-SHA-256 with *info* and *salt*."""
        return HKDF(algorithm=SHA256(), length=32, salt=salt or None, info=info).derive(self._seed)
