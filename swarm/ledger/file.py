"""The ledger file: JSON Lines, one canonical object per line.

It has a header ``{"ledger":1,"room":…}``, the records in order, and a closing checkpoint signed by the exporter. A
record is ``{"entry":{…},"position":…,"stored":…}``, or, if the bytes are not a valid entry of the room,
``{"author":…,"position":…,"raw":base64,"stored":…}``.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from protocols.core.canonical import canonical, read_canonical
from protocols.core.instants import Instant, format_instant, parse_wire_instant
from swarm.errors import BadEntry, BadInput
from swarm.files.writing import replacing
from swarm.ledger.chain import Record
from swarm.signed.checkpoint import Checkpoint, parse_checkpoint
from swarm.signed.entry import brief
from swarm.signed.sizes import MAX_PAYLOAD_BYTES

FORMAT = 1
LONGEST_LINE = 2 * MAX_PAYLOAD_BYTES + 1024
"""A raw record in base64 with its envelope fits well within this."""
_HEADER = b'{"ledger":1,'
_NO_LEDGER = 'not a ledger: the first line is {"ledger":1,"room":…}'
_AUTHOR = re.compile(rb'\{"author":"(U[A-Z2-7]{55})",')
# Whoever parses an entry checks its own bytes; the text around them has one form.
_PLACE = re.compile(rb',"position":([1-9][0-9]{0,15}),"stored":"([0-9TZ:.-]{27})"\}\Z')


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One record as the file claims it; ``entry`` tells in which of the two forms.

    ``author`` is the key of its subject: in the first form, the entry's own author.
    """

    line: int
    position: int
    stored: Instant
    author: str
    payload: bytes
    entry: bool


class BadLine(BadEntry):
    """A line that is not a canonical object of the ledger's form; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__("altered", f"line {line}: {message}")


def record_line(record: Record) -> bytes:
    """Return the line of one record, including its newline."""
    tail = f'"position":{record.position},'
    stored = f'"stored":"{format_instant(record.stored)}"}}\n'
    if record.entry is not None:
        return b'{"entry":' + record.payload + b"," + tail.encode() + stored.encode()
    raw = base64.b64encode(record.payload).decode()
    return f'{{"author":"{record.author}",{tail}"raw":"{raw}",{stored}'.encode()


def write_ledger(path: Path, room: str, records: Iterable[Record], checkpoint: Checkpoint) -> None:
    """Write a whole ledger, so that *path* contains either its old content or all of the new."""
    try:
        with replacing(path, synced=True) as file:
            file.write(canonical({"ledger": FORMAT, "room": room}) + b"\n")
            for record in records:
                file.write(record_line(record))
            file.write(canonical(checkpoint.plain()) + b"\n")
    except OSError as error:
        raise BadInput(f"the ledger cannot be written: {error.strerror}", source=str(path)) from None


class LedgerReader:
    """Reads a ledger line by line. After the iteration, ``checkpoint`` and ``torn`` tell how the file ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.room = ""
        self.checkpoint: Checkpoint | None = None
        self.torn = False

    def __iter__(self) -> Iterator[FileRecord]:
        """Yield the records; raises `BadInput` if the file is not a ledger, `BadLine` if a line was altered."""
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
        ours = line.startswith(_HEADER)
        header = _canonical(1, line) if ours else _other_header(line, self.path)
        if header.keys() != {"ledger", "room"} or type(header["room"]) is not str:
            if ours:
                raise BadLine(1, "the header has exactly ledger and room")
            raise BadInput(_NO_LEDGER, source=str(self.path), line=1)
        if type(header["ledger"]) is not int or header["ledger"] != FORMAT:
            raise BadInput(f"ledger format {header['ledger']!r}; this reads {FORMAT}", source=str(self.path), line=1)
        self.room = header["room"]

    def _closing(self, number: int, line: bytes) -> None:
        try:
            self.checkpoint = parse_checkpoint(_canonical(number, line))
        except BadLine:
            raise
        except BadEntry as error:
            raise BadLine(number, str(error)) from None


def _other_header(line: bytes, source: Path) -> dict[str, Any]:
    """Return the object of a first line that does not begin like our header, or raise `BadInput`."""
    try:
        return _canonical(1, line)
    except BadLine:
        raise BadInput(_NO_LEDGER, source=str(source), line=1) from None


def _canonical(number: int, line: bytes) -> dict[str, Any]:
    try:
        plain = read_canonical(line)
    except (json.JSONDecodeError, UnicodeDecodeError):
        plain = None
    except ValueError as error:
        raise BadLine(number, brief(str(error))) from None
    if type(plain) is not dict:
        raise BadLine(number, "not a JSON object")
    return plain


def _record(number: int, line: bytes) -> FileRecord:
    """Take a record apart. An entry's bytes are cut out unchanged; the parser checks their form."""
    if line.startswith(b'{"entry":'):
        place = _PLACE.search(line, max(0, len(line) - 100))
        author = _AUTHOR.match(line, len(b'{"entry":'))
        if place is None or author is None:
            raise BadLine(number, "a record has the entry, which begins with its author, then position and stored")
        payload = line[len(b'{"entry":') : place.start()]
        stored = _instant(number, place[2].decode("ascii"))
        return FileRecord(number, int(place[1]), stored, author[1].decode("ascii"), payload, True)
    plain = _canonical(number, line)
    if plain.keys() != {"author", "position", "raw", "stored"}:
        raise BadLine(number, "a record has entry, position, stored; or author, position, raw, stored")
    try:
        payload = base64.b64decode(plain["raw"], validate=True)
        exact = base64.b64encode(payload).decode() == plain["raw"]
    except (TypeError, ValueError):
        exact = False
    if not exact or type(plain["author"]) is not str or type(plain["position"]) is not int:
        raise BadLine(number, "author is a public key, position a number, and raw canonical base64")
    stored = _instant(number, plain["stored"])
    return FileRecord(number, plain["position"], stored, plain["author"], payload, False)


def _instant(number: int, text: Any) -> Instant:
    try:
        return parse_wire_instant(text)
    except (TypeError, ValueError, LookupError) as error:
        raise BadLine(number, f"stored: {brief(str(error))}") from None


def entries_in(path: Path) -> Iterator[tuple[int, bytes | Checkpoint]]:
    """Yield the bytes of each entry in a ledger, with the position that its line gives, and the closing checkpoint (0).

    Unlike `LedgerReader`, it skips whatever does not have the form, and says nothing of order or completeness: the
    caller uses only what is signed. Raises `BadInput` if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            while line := file.readline(LONGEST_LINE + 1):
                try:
                    if line.startswith(b'{"checkpoint":'):
                        yield 0, parse_checkpoint(_canonical(0, line.removesuffix(b"\n")))
                    elif line.startswith(b'{"entry":'):
                        claimed = _record(0, line.removesuffix(b"\n"))
                        yield claimed.position, claimed.payload
                except BadEntry:
                    continue
    except OSError as error:
        raise BadInput(f"the ledger cannot be read: {error.strerror}", source=str(path)) from None


def ledger_room(path: Path) -> str | None:
    """Return the room that the header of a ledger names, or None if it cannot be read."""
    reader = LedgerReader(path)
    try:
        next(iter(reader), None)
    except (BadInput, BadLine):
        return reader.room or None
    return reader.room


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint of a receipt file (one such line); raise `BadInput`."""
    try:
        with path.open("rb") as file:
            line = file.read(LONGEST_LINE)
    except OSError as error:
        raise BadInput(f"the receipt cannot be read: {error.strerror}", source=str(path)) from None
    try:
        return parse_checkpoint(_canonical(1, line.removesuffix(b"\n")))
    except BadEntry as error:
        raise BadInput(f"not a receipt: {error}", source=str(path)) from None
