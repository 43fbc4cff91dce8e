"""Files that people write: YAML 1.2 or JSON, told apart by content, with a line for every complaint.

`read_document` reads one; `validate` makes a model of it or raises `BadInput` naming file, line, place and what is
valid. Duplicate keys are refused at every level, custom tags and merge keys too; anchors and aliases may be used.
Keys are text as written. What scalars become is told in `swarm.files.scalars`.
"""

import codecs
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from swarm.errors import BadInput
from swarm.files.scalars import (
    DecimalText,
    UnheldNumber,
    ValueText,
    hold_decimal,
    quote,
    read_fraction,
    read_integer,
    read_plain,
)
from swarm.files.validation import Path, dotted, validate

__all__ = [
    "DecimalText",
    "Document",
    "UnheldNumber",
    "ValueText",
    "from_data",
    "load",
    "read_document",
    "validate",
]

MAX_BYTES: Final = 64 * 2**20
MAX_YAML_BYTES: Final = 4 * 2**20
"""YAML is read at about half a megabyte per second; a larger history should be written as JSON."""
MAX_DEPTH: Final = 64
"""Far more than any of our files needs, and well within the recursion limits of the readers."""
MAX_NODES: Final = 1_000_000
"""Values after aliases are expanded, because a reader of the data walks through all of them."""

_STR_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_COLLECTION_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
# Possessive quantifiers: otherwise the engine would keep a hundred bytes for every character.
_JSON_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|[^\s{}\[\],:"]++')
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(slots=True)
class _Place:
    """The place of a value: its line (in a mapping, the line of its key) and the places of the values inside it."""

    line: int
    parts: "dict[str, _Place] | list[_Place] | None" = None


@dataclass(slots=True, eq=False)
class Document:
    """The content of a file, with places. ``data`` may share parts (aliases); read it, and never change it."""

    data: Any
    source: str
    _place: _Place | None = None
    _json: str | None = field(default=None, repr=False)

    def line(self, path: Path) -> int | None:
        """Return the line of *path*, or of its nearest existing holder; ``None`` for data that is not from a file."""
        if self._place is None and self._json is not None:
            # Lines of JSON are looked up only for a complaint, so that a good file is read at the C decoder's speed.
            self._place, self._json = _places(self._json, self.source), None
        place = self._place
        if place is None:
            return None
        for step in path:
            below = _part(place, step)
            if below is None:
                break
            place = below
        return place.line

    def error(self, path: Path, message: str) -> BadInput:
        """Return an error with *message* about *path*, to be raised."""
        place = dotted(path)
        return BadInput(f"{place}: {message}" if place else message, source=self.source, line=self.line(path))


def _part(place: _Place, step: str | int) -> _Place | None:
    if isinstance(place.parts, dict):
        return place.parts.get(step) if isinstance(step, str) else None
    if isinstance(place.parts, list) and isinstance(step, int) and 0 <= step < len(place.parts):
        return place.parts[step]
    return None


Source = str | os.PathLike[str] | Mapping[str, Any] | Document
"""A file's path, what such a file holds as plain data, or a document that was read already."""


def load(source: Source) -> Document:
    """Return the document of a path or of plain data; the Python function of every verb accepts either."""
    if isinstance(source, Document):
        return source
    return read_document(source) if isinstance(source, str | os.PathLike) else from_data(source)


def read_document(path: str | os.PathLike[str]) -> Document:
    """Read the YAML 1.2 or JSON file at *path*; raise `BadInput` if it cannot be read or is neither."""
    source = os.fspath(path)
    shown = source if source.isprintable() else quote(source, 200)
    try:
        with open(source, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise BadInput("no such file", source=shown) from None
    except IsADirectoryError:
        raise BadInput("is a directory; name a YAML or JSON file", source=shown) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInput(f"cannot be read: {getattr(error, 'strerror', None) or error}", source=shown) from None
    if len(content) > MAX_BYTES:
        raise BadInput(f"is larger than {MAX_BYTES >> 20} MiB", source=shown)
    return _parse(content, shown)


def _parse(content: bytes, source: str) -> Document:
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"is not UTF-8 text: byte 0x{content[error.start]:02x}", source=source, line=line) from None
    if not text.strip():
        raise BadInput("is empty", source=source)
    if text.lstrip()[0] not in "{[":
        return _parse_yaml(text, source)
    try:
        return _parse_json(text, source)
    except _Malformed as in_json:
        # Flow style such as {members: [A, B]} is YAML. If the text is neither, the reader that got further was probably
        # meant.
        if len(text) > MAX_YAML_BYTES:
            raise
        try:
            return _parse_yaml(text, source)
        except _Malformed as in_yaml:
            raise max(in_json, in_yaml, key=lambda error: error.line or 0) from None


class _Malformed(BadInput):
    """The text is not in the notation in which it was read; any other error about it is final."""


class _DuplicateKey(Exception):
    pass


class _TooManyValues(BadInput):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        known: set[str] = set()
        for key, _ in pairs:
            if key in known:
                raise _DuplicateKey(key)
            known.add(key)
    return mapping


_decode_json = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=read_fraction, parse_int=read_integer, parse_constant=UnheldNumber
).decode


def _parse_json(text: str, source: str) -> Document:
    try:
        data = _decode_json(text)
    except json.JSONDecodeError as error:
        what = "holds a second value after the first" if error.msg == "Extra data" else f"is not JSON: {error.msg}"
        raise _Malformed(f"{what} (column {error.colno})", source=source, line=error.lineno) from None
    except _DuplicateKey as twice:
        _places(text, source)
        raise BadInput(f"the key {quote(str(twice))} stands twice in one mapping", source=source) from None
    except RecursionError:
        deep = True
    else:
        deep = _too_deep(data)
    if deep:
        _places(text, source)
        raise BadInput(f"nested deeper than {MAX_DEPTH} levels", source=source)
    if _ESCAPED_SURROGATE.search(text) is None:
        return Document(data, source, None, text)
    place = _places(text, source)
    if place is None and (text_of := next(filter(_has_no_utf8, _texts(data)), None)) is not None:
        raise BadInput(f"a lone surrogate in {quote(text_of)}; it has no UTF-8 form", source=source)
    return Document(data, source, place)


def _texts(data: Any) -> Iterator[str]:
    """Yield every text and every key in *data*."""
    rest = [data]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value
            rest += value.values()
        elif isinstance(value, list):
            rest += value


def _has_no_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _too_deep(data: Any) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _places(text: str, source: str) -> _Place | None:
    """Return the places of the values in JSON, or None if there are too many to store.

    Raises an error, with the line, for what the fast reader found or could not see.
    """
    try:
        return _build_json(text, source).place
    except _TooManyValues:
        return None


def _build_json(text: str, source: str) -> "_Builder":
    """Read JSON again, slowly, for the places of its values.

    Raises an error where the fast reader could not say why.
    """
    builder = _Builder(source)
    line, end = 1, 0
    for token in _JSON_TOKEN.finditer(text):
        line += text.count("\n", end, token.start())
        end = token.start()
        word = token[0]
        if word in "{[":
            builder.open({} if word == "{" else [], line)
        elif word in "}]":
            builder.close()
        elif word[0] == '"':
            builder.scalar(json.loads(word) if "\\" in word else word[1:-1], word, line)
        else:
            builder.scalar(None, word, line)  # the value is already known; only its place is needed
    return builder


def _parse_yaml(text: str, source: str) -> Document:
    if len(text) > MAX_YAML_BYTES:
        raise BadInput(f"is larger than {MAX_YAML_BYTES >> 20} MiB, too large for YAML; write JSON", source=source)
    builder = _Builder(source)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            _take(builder, event)
    except BadInput:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        line, where = (mark.line + 1, f" (column {mark.column + 1})") if mark else (None, "")
        raise _Malformed(f"is not YAML: {problem}{where}", source=source, line=line) from None
    except (YAMLError, ValueError) as error:  # chr() of "\U00110000" escapes from the parser
        raise _Malformed(f"is not YAML: {' '.join(str(error).split())}", source=source) from None
    if builder.place is None:
        raise BadInput("holds no value", source=source)
    return Document(builder.data, source, builder.place)


def _take(builder: "_Builder", event: Any) -> None:
    line = event.start_mark.line + 1
    if isinstance(event, DocumentStartEvent):
        if builder.place is not None:
            raise builder.error("a second document; a file holds one", line)
        if event.version and tuple(event.version) != (1, 2):
            raise builder.error("only YAML 1.2 is read", line)
    elif isinstance(event, AliasEvent):
        builder.alias(event.anchor, line)
    elif isinstance(event, ScalarEvent):
        if event.tag is not None and event.tag not in _STR_TAGS:
            raise builder.error(f"the tag {quote(event.tag)} is not read here; leave it out", line)
        plain = event.style is None and event.tag is None
        if plain and event.value == "<<" and builder.at_key:
            raise builder.error("merge keys (<<) are no part of YAML 1.2; write the fields out", line)
        builder.scalar(read_plain(event.value) if plain else event.value, event.value, line, event.anchor)
    elif isinstance(event, MappingStartEvent | SequenceStartEvent):
        if event.tag is not None and event.tag not in _COLLECTION_TAGS:
            raise builder.error(f"the tag {quote(event.tag)} is not read here; leave it out", line)
        builder.open({} if isinstance(event, MappingStartEvent) else [], line, event.anchor)
    elif not isinstance(event, NodeEvent) and type(event).__name__ in ("MappingEndEvent", "SequenceEndEvent"):
        builder.close()


@dataclass(slots=True)
class _Open:
    """A mapping or list that is still being read."""

    value: Any
    place: _Place
    anchor: str | None
    key: str | None = None
    key_line: int = 0
    size: int = 1


class _Builder:
    """Builds data and places from the events of either parser, without recursion."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.data: Any = None
        self.place: _Place | None = None
        self._open: list[_Open] = []
        self._anchored: dict[str, tuple[Any, _Place, int]] = {}

    def error(self, message: str, line: int) -> BadInput:
        return BadInput(message, source=self.source, line=line)

    @property
    def at_key(self) -> bool:
        """Whether the next value is a mapping's key."""
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def scalar(self, value: Any, text: str, line: int, anchor: str | None = None) -> None:
        if isinstance(value, str):
            value = self._whole(value, line)
        if self.at_key:
            holder = self._open[-1]
            key = value if isinstance(value, str) else text
            if key in holder.value:
                raise self.error(f"the key {quote(key)} stands twice in one mapping", line)
            holder.key, holder.key_line = key, line
        else:
            self._add(value, _Place(line), 1, anchor)

    def open(self, value: Any, line: int, anchor: str | None = None) -> None:
        if self.at_key:
            raise self.error("a key must be text, not a list or mapping", line)
        if len(self._open) >= MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels", line)
        if anchor is not None:
            self._anchored.pop(anchor, None)
        self._open.append(_Open(value, _Place(line, {} if isinstance(value, dict) else []), anchor))

    def close(self) -> None:
        done = self._open.pop()
        self._add(done.value, done.place, done.size, done.anchor)

    def alias(self, name: str, line: int) -> None:
        if name not in self._anchored:
            raise self.error(f"no complete anchor {quote(name)} stands before this alias of it", line)
        value, place, size = self._anchored[name]
        if self.at_key:
            raise self.error("a key must be written out, not an alias", line)
        self._add(value, _Place(line, place.parts), size, None)

    def _add(self, value: Any, place: _Place, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchored[anchor] = (value, place, size)
        if not self._open:
            self.data, self.place = value, place
            return
        holder = self._open[-1]
        holder.size += size
        if holder.size > MAX_NODES:
            message = f"more than {MAX_NODES:,} values once aliases are expanded"
            raise _TooManyValues(message, source=self.source, line=place.line)
        if holder.key is None:
            holder.value.append(value)
            holder.place.parts.append(place)  # type: ignore[union-attr]
        else:
            holder.value[holder.key] = value
            holder.place.parts[holder.key] = _Place(holder.key_line, place.parts)  # type: ignore[index,call-overload]
            holder.key = None

    def _whole(self, text: str, line: int) -> str:
        """Join surrogate pairs that were written as two escapes, as JSON does; refuse a lone surrogate."""
        try:
            text.encode()
        except UnicodeEncodeError:
            try:
                return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            except UnicodeDecodeError:
                raise self.error(f"a lone surrogate in {quote(text)}; it has no UTF-8 form", line) from None
        return text


def from_data(data: Any, source: str = "<data>") -> Document:
    """Treat plain Python data as if it had been read from a file; a float becomes the decimal that it prints as."""
    return Document(_plain(data, source, (), iter(range(MAX_NODES))), source)


def _plain(value: Any, source: str, path: Path, budget: Iterator[int]) -> Any:
    if next(budget, None) is None:
        raise BadInput(f"more than {MAX_NODES:,} values", source=source)
    if len(path) >= MAX_DEPTH and isinstance(value, list | tuple | Mapping):
        raise BadInput(f"nested deeper than {MAX_DEPTH} levels", source=source)
    if value is None or isinstance(value, bool | UnheldNumber):
        return value
    if isinstance(value, int):
        return read_integer(str(value)) if abs(value) < 10**400 else UnheldNumber("an integer", integer=True)
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else UnheldNumber(repr(value))
    if isinstance(value, Decimal):
        return value if hold_decimal(value) else UnheldNumber(str(value))
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Document(None, source).error(path, f"a lone surrogate in {quote(value)}") from None
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item, source, (*path, place), budget) for place, item in enumerate(value)]
    if isinstance(value, Mapping):
        mapping: dict[str, Any] = {}
        for name, item in value.items():
            key = _key(name, source, path)
            if key in mapping:
                raise Document(None, source).error(path, f"the key {quote(key)} stands twice in one mapping")
            mapping[key] = _plain(item, source, (*path, key), budget)
        return mapping
    raise Document(None, source).error(path, f"plain data only (mappings, lists, text, numbers), not {type(value)}")


def _key(name: Any, source: str, path: Path) -> str:
    if isinstance(name, str):
        return str(_plain(name, source, path, iter((0,))))
    if isinstance(name, bool):
        return str(name).lower()
    if isinstance(name, int | Decimal):
        return str(name)
    raise Document(None, source).error(path, f"a key must be text, not {type(name)}")
