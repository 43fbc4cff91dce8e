"""The ledger file: JSON Lines, one canonical object a line.

A header ``{"ledger":1,"room":…}``, the records in order, and a closing checkpoint signed by the exporter. A record is
``{"entry":{…},"position":…,"stored":…}``, or, where the bytes are no valid entry of the room,
``{"author":…,"position":…,"raw":base64,"stored":…}``.
"""

import base64
import binascii
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from protocols.canonical import canonical
from protocols.instants import Instant, format_instant, parse_wire_instant
from swarm.errors import BadEntry, BadInput
from swarm.ledger.chain import Record
from swarm.ledger.checkpoint import Checkpoint, parse_checkpoint
from swarm.log.port import MAX_PAYLOAD_BYTES

FORMAT = 1
LONGEST_LINE = 2 * MAX_PAYLOAD_BYTES + 1024
"""A raw record in base64 and its envelope fit well within this."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One record as the file claims it; ``entry`` tells in which of the two forms."""

    line: int
    position: int
    stored: Instant
    author: str
    payload: bytes
    entry: bool


class BadLine(BadEntry):
    """A line that is not one canonical object of the ledger's form; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__("altered", f"line {line}: {message}")


def record_line(record: Record) -> bytes:
    """Return the line of one record, its newline included."""
    tail = f'"position":{record.position},'
    stored = f'"stored":"{format_instant(record.stored)}"}}\n'
    if record.entry is not None:
        return b'{"entry":' + record.payload + b"," + tail.encode() + stored.encode()
    raw = base64.b64encode(record.payload).decode()
    return f'{{"author":"{record.author}",{tail}"raw":"{raw}",{stored}'.encode()


def write_ledger(path: Path, room: str, records: Iterable[Record], checkpoint: Checkpoint) -> None:
    """Write a whole ledger, so that *path* holds either what it held before or all of it."""
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb") as file:
            file.write(canonical({"ledger": FORMAT, "room": room}) + b"\n")
            for record in records:
                file.write(record_line(record))
            file.write(canonical(checkpoint.plain()) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise BadInput(f"the ledger cannot be written: {error.strerror}", source=str(path)) from None


class LedgerReader:
    """Reads a ledger line by line. After the iteration ``checkpoint`` and ``torn`` tell how the file ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.room = ""
        self.checkpoint: Checkpoint | None = None
        self.torn = False

    def __iter__(self) -> Iterator[FileRecord]:
        """Yield the records; raises `BadInput` for a file that is none, `BadLine` for a line that is altered."""
        try:
            with self.path.open("rb") as file:
                yield from self._read(file)
        except OSError as error:
            raise BadInput(f"the ledger cannot be read: {error.strerror}", source=str(self.path)) from None

    def _read(self, file: BinaryIO) -> Iterator[FileRecord]:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if not line.endswith(b"\n"):
                if len(line) > LONGEST_LINE:
                    raise BadLine(number, f"longer than {LONGEST_LINE} bytes")
                self.torn = True
                return
            if self.checkpoint is not None:
                raise BadLine(number, "the closing checkpoint is the last line")
            line = line[:-1]
            if number == 1:
                self._header(line)
            elif line.startswith(b'{"checkpoint":'):
                self._closing(number, line)
            else:
                yield _record(number, line)
        if number == 0:
            raise BadInput("the file is empty: there is nothing to check", source=str(self.path))

    def _header(self, line: bytes) -> None:
        header = _canonical(1, line, self.path)
        if header.keys() != {"ledger", "room"} or type(header["room"]) is not str:
            raise BadInput('not a ledger: the first line is {"ledger":1,"room":…}', source=str(self.path), line=1)
        if header["ledger"] != FORMAT:
            raise BadInput(f"ledger format {header['ledger']!r}; this reads {FORMAT}", source=str(self.path), line=1)
        self.room = header["room"]

    def _closing(self, number: int, line: bytes) -> None:
        try:
            self.checkpoint = parse_checkpoint(_canonical(number, line, None))
        except BadLine:
            raise
        except BadEntry as error:
            raise BadLine(number, str(error)) from None


def _canonical(number: int, line: bytes, source: Path | None) -> dict[str, Any]:
    """Return the object of *line*; where *source* is given, what is no object at all is no ledger either."""
    try:
        plain = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        if source is not None:
            raise BadInput('not a ledger: the first line is {"ledger":1,"room":…}', source=str(source), line=1)
        raise BadLine(number, "not a JSON object")
    try:
        same = canonical(plain) == line
    except ValueError as error:
        raise BadLine(number, str(error)) from None
    if not same:
        raise BadLine(number, "not in canonical form")
    return plain


def _record(number: int, line: bytes) -> FileRecord:
    """Take a record apart. An entry's bytes are cut out as they stand: whoever parses them checks their form."""
    if line.startswith(b'{"entry":'):
        payload, mark, rest = line[len(b'{"entry":') :].rpartition(b',"position":')
        if mark:
            plain = _canonical(number, b'{"position":' + rest, None)
            position, stored = _place(number, plain, {"position", "stored"})
            return FileRecord(number, position, stored, "", payload, True)
        raise BadLine(number, "a record has entry, position and stored")
    plain = _canonical(number, line, None)
    position, stored = _place(number, plain, {"author", "position", "raw", "stored"})
    try:
        payload = base64.b64decode(plain["raw"], validate=True)
        exact = base64.b64encode(payload).decode() == plain["raw"] and type(plain["author"]) is str
    except (TypeError, binascii.Error):
        exact = False
    if not exact:
        raise BadLine(number, "raw is canonical base64, and author a public key")
    return FileRecord(number, position, stored, plain["author"], payload, False)


def _place(number: int, plain: dict[str, Any], fields: set[str]) -> tuple[int, Instant]:
    if plain.keys() != fields or type(plain["position"]) is not int or type(plain["stored"]) is not str:
        raise BadLine(number, f"a record has exactly {', '.join(sorted(fields))}")
    try:
        return plain["position"], parse_wire_instant(plain["stored"])
    except ValueError as error:
        raise BadLine(number, str(error)) from None


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint of a receipt file (one such line); raise `BadInput`."""
    try:
        return parse_checkpoint(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise BadInput(f"the receipt cannot be read: {error.strerror}", source=str(path)) from None
    except (ValueError, BadEntry) as error:
        raise BadInput(f"not a receipt: {error}", source=str(path)) from None
