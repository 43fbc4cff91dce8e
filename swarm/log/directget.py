"""JetStream's direct get: how to ask, and how to read the answers.

A record comes with header lines that the server appends to those of its publisher, so if a name occurs twice, the last
one is the server's. A message is a record only if it has ``Nats-Sequence``; an inline status means nothing, because a
publisher may store one. A batch ends with a message without it: 204 (end of batch), 404 (nothing there), 408 (bad
request), 413 (too many results), 503 (nobody to answer).
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from protocols.core.instants import Instant, parse_instant
from swarm.errors import Unavailable

BATCH_RECORDS = 256
TOO_MANY = 413
"""The status if the last records of more than 1,024 subjects were asked for."""
BATCH_BYTES = 4 * 1024 * 1024
"""Without this, the server may send 64 MB in one go. The record that fills it is sent whole."""
BATCH_SUBJECTS = 1024
HEADER_BYTES = 2048
"""More than the server's lines on one record need, including its subject."""

_SEQUENCE = b"\r\nNats-Sequence: "
_SUBJECT = b"\r\nNats-Subject: "
_TIME = b"\r\nNats-Time-Stamp: "
_PREVIOUS = b"\r\nNats-Last-Sequence: "
_PENDING = b"\r\nNats-Num-Pending: "
_UPPER = b"\r\nNats-UpTo-Sequence: "


class Record(NamedTuple):
    """A record of a stream; ``previous`` is the sequence before it in the same batch, ``None`` in a single answer."""

    sequence: int
    stored: Instant
    subject: str
    payload: bytes
    previous: int | None


class End(NamedTuple):
    """How a batch ended: status, the last sequence sent, how many match beyond it, and the sequence of the cut."""

    status: int
    last: int
    pending: int
    upper: int


def all_of(subject: str, after: int, count: int, size: int = BATCH_BYTES) -> bytes:
    """Ask for the first *count* records on *subject* with a sequence above *after*, oldest first, as a batch.

    It ends with the record that brings it to *size* bytes.
    """
    ask = {"next_by_subj": subject, "seq": after + 1, "batch": min(count, BATCH_RECORDS), "max_bytes": size}
    return json.dumps(ask).encode("ascii")


def last_of_each(subjects: Sequence[str], upper: int | None) -> bytes:
    """Ask for the last record on each of *subjects*, as of the sequence *upper* or of now, as a batch."""
    ask: dict[str, object] = {"multi_last": list(subjects), "batch": BATCH_SUBJECTS, "max_bytes": BATCH_BYTES}
    if upper is not None:
        ask["up_to_seq"] = upper
    return json.dumps(ask).encode("ascii")


def last_of(subject: str) -> bytes:
    """Ask for the last record on *subject*, as a single answer."""
    return json.dumps({"last_by_subj": subject}).encode("ascii")


def first_of(subject: str) -> bytes:
    """Ask for the first record on *subject*, as a single answer."""
    return json.dumps({"next_by_subj": subject, "seq": 1}).encode("ascii")


def ends_batch(headers: bytes) -> bool:
    """Tell whether a message with these headers ends a batch: it is not a record."""
    return _SEQUENCE not in headers


def _field(headers: bytes, name: bytes) -> bytes | None:
    start = headers.rfind(name)
    if start < 0:
        return None
    start += len(name)
    end = headers.find(b"\r\n", start)
    return headers[start : end if end >= 0 else len(headers)].strip()


def _number(headers: bytes, name: bytes) -> int:
    text = _field(headers, name)
    return int(text) if text else 0


def sequence_of(headers: bytes) -> int:
    """Return the sequence in *headers*, or 0 if there is none that can be read."""
    try:
        return _number(headers, _SEQUENCE)
    except ValueError:
        return 0


def parse_record(headers: bytes, data: bytes) -> Record:
    """Read a message for which `ends_batch` is false; raise `Unavailable` if the server's own lines are damaged."""
    subject, time = _field(headers, _SUBJECT), _field(headers, _TIME)
    try:
        if subject is None or time is None:
            raise ValueError("no subject or no time")
        sequence = int(_field(headers, _SEQUENCE) or b"")
        previous = _field(headers, _PREVIOUS)
        return Record(
            sequence,
            parse_store_time(time.decode("ascii")),
            subject.decode("utf-8"),
            data,
            int(previous) if previous else None,
        )
    except ValueError as error:
        raise Unavailable(f"the server sent a record that cannot be read: {error}") from None


def parse_end(headers: bytes) -> End:
    """Read a message for which `ends_batch` is true; raise `Unavailable` if its numbers cannot be read."""
    status = headers[9:12]
    try:
        return End(
            int(status) if status.isdigit() else 0,
            _number(headers, _PREVIOUS),
            _number(headers, _PENDING),
            _number(headers, _UPPER),
        )
    except ValueError as error:
        raise Unavailable(f"the server ended an answer in a way that cannot be read: {error}") from None


def parse_store_time(text: str) -> Instant:
    """Read a store time: RFC 3339 with up to nine fraction digits, without trailing zeros; cut to microseconds."""
    head, point, rest = text.partition(".")
    if not point:
        return parse_instant(text)
    digits = rest.rstrip("Z")
    return parse_instant(f"{head}.{digits[:6]}{rest[len(digits) :]}" if digits.isdigit() else text)
