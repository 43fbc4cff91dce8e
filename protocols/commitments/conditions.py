"""Conditions: what an antecedent or a consequent may say, as text and as a typed tree.

::

    paid(amount >= 100) by 2026-01-11T00:00:00Z and no outage within 30 days of delivered
    at least 3 delivered before T or refunded totalling amount >= 100 within 2 weeks of violated(water)

`parse` reads text into a tree of frozen parts; ``str()`` of a tree is its canonical text, and parsing that gives an
equal tree. A window after parentheses is written to each of their parts, so that a tree holds no groups. Instants and
durations are whole microseconds, amounts stay decimal text.
"""

import re
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer, Tree, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError

from protocols.commitments.tree import (
    NUMBER,
    RESERVED,
    After,
    And,
    AtLeast,
    Before,
    By,
    Condition,
    Counted,
    Event,
    Filter,
    LifeCycle,
    Literal,
    No,
    Or,
    Timed,
    Totalling,
    Window,
    Within,
)
from protocols.core.instants import Instant, parse_duration, parse_instant
from protocols.messages.commitments import AGREED

__all__ = ["AGREED", "DEEPEST", "RESERVED", "Condition", "ConditionError", "parse"]

DEEPEST = 16
"""How deep parentheses may nest."""
MOST_CLOCKS = 2
"""How deep ``within … of (…)`` may nest."""
MOST_PARTS = 1_000
"""Leaves and windows of one condition; each window after parentheses counts once for every part of them."""
MOST_COUNTED = 1_000_000
"""The largest N of ``at least N``."""


class ConditionError(ValueError):
    """Text that is not a usable condition; ``position`` counts from 0, and the message says what is valid."""

    def __init__(self, message: str, position: int = 0, text: str | None = None) -> None:
        self.position = position
        where = "" if text is None else f" (character {position + 1}: {_pointed(text, position)})"
        super().__init__(message + where)


_Parsed = Tree[Token]


def _pointed(text: str, position: int) -> str:
    before = text[max(0, position - 30) : position]
    after = text[position : position + 30]
    return "".join(f"{before}▸{after}".split("\n")) if after else f"{before}▸ the end"


@lru_cache(maxsize=512)
def parse(text: str) -> Condition:
    """Read *text* as a condition; raise `ConditionError` pointing at the character that is wrong."""
    _refuse_deep(text)
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _explained(error, text) from None
    _refuse_large(tree, text)
    try:
        condition: Condition = _Tree(text).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, ConditionError):
            raise error.orig_exc from None
        raise
    _refuse_unbounded(condition, text)
    return condition


def _refuse_deep(text: str) -> None:
    depth = 0
    for match in re.finditer(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[()]", text):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth > DEEPEST:
            raise ConditionError(f"parentheses nest deeper than {DEEPEST}", match.start(), text)


def _refuse_large(tree: _Parsed, text: str) -> None:
    """Count what *tree* would become with its windows written out, without writing them out."""
    written = _size(tree, text, 0)[1]
    if written > MOST_PARTS:
        message = f"written out, the condition has {written:,} leaves and windows; at most {MOST_PARTS:,} are read"
        raise ConditionError(message, 0, text)


def _size(tree: _Parsed, text: str, clocks: int) -> tuple[int, int]:
    """Return the number of leaves to which a window after *tree* applies, and the number of all leaves and windows.

    *clocks* is how many ``within … of (…)`` surround it.
    """
    parts = [part for part in tree.children if isinstance(part, Tree)]
    match tree.data:
        case "either" | "both" | "group":
            sizes = [_size(part, text, clocks) for part in parts]
            return sum(size[0] for size in sizes), sum(size[1] for size in sizes)
        case "part":
            bound, written = _size(parts[0], text, clocks)
            return bound, written + bound * sum(_size(window, text, clocks)[1] for window in parts[1:])
        case "within" if parts[0].data == "group":
            if clocks == MOST_CLOCKS:
                start = getattr(tree.children[0], "start_pos", None) or 0
                raise ConditionError(f"within … of (…) nests deeper than {MOST_CLOCKS}", start, text)
            return 1, 1 + _size(parts[0], text, clocks + 1)[1]
        case "within":
            return 1, 2
        case _:
            return 1, 1


def _refuse_unbounded(condition: Condition, text: str) -> None:
    if isinstance(condition, And | Or):
        for part in condition.parts:
            _refuse_unbounded(part, text)
    elif isinstance(condition, No) and all(isinstance(window, After) for window in condition.windows):
        message = f"no {condition.what} has no end: give it by T, before T or within D of …"
        raise ConditionError(message, condition.position, text)
    if isinstance(condition, Timed | No):
        for window in condition.windows:
            if isinstance(window, Within):
                _refuse_unbounded(window.of, text)


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = resources.files("protocols.commitments").joinpath("conditions.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="either", parser="lalr", lexer="contextual", propagate_positions=False)


_WORDS = {
    "NAME": "a name",
    "NO": "no",
    "INTEGER": "a whole number",
    "OP": "= != < <= > >=",
    "VALUE": "a value",
    "QUOTED": "quoted text",
    "INSTANCE": "[instance]",
    "INSTANT": "a time such as 2026-01-31T17:00:00Z",
    "DURATION": "a duration such as 5 days",
    "LIFE": "created(…), violated(…), …",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "$END": "the end",
}
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_SPACE = re.compile("[ \t\r\n]+")


def _explained(error: UnexpectedInput, text: str) -> ConditionError:
    position, wanted, found = len(text), set[str](), "the end"
    if isinstance(error, UnexpectedToken):
        wanted = set(error.accepts or error.expected) or {"$END"}
        if error.token.type != "$END":
            position, found = error.token.start_pos or 0, repr(str(error.token))
    elif isinstance(error, UnexpectedCharacters):
        position, wanted = error.pos_in_stream or 0, set(error.allowed or ())
        found = repr(text[position : position + 1])
    valid = sorted(_WORDS.get(name, name.strip("_").translate(_LOWER)) for name in wanted)
    return ConditionError(f"found {found}, expected {' or '.join(valid)}", position, text)


def _unquote(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _flat(kind: type[And] | type[Or], parts: list[Condition]) -> Condition:
    if len(parts) == 1:
        return parts[0]
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else [part]
    return kind(tuple(flat))


def _bound(condition: Condition, windows: tuple[Window, ...]) -> Condition:
    """Return *condition* with *windows* added to each of its parts."""
    if not windows:
        return condition
    if isinstance(condition, And | Or):
        return type(condition)(tuple(_bound(part, windows) for part in condition.parts))
    if isinstance(condition, Timed | No):
        return replace(condition, windows=condition.windows + windows)
    return Timed(condition, windows)


@v_args(inline=True)
class _Tree(Transformer[Token, Any]):
    """Turns the grammar's parse tree into the typed tree."""

    def __init__(self, text: str) -> None:
        super().__init__(visit_tokens=False)
        self._text = text

    def _error(self, message: str, token: Token) -> ConditionError:
        return ConditionError(message, token.start_pos or 0, self._text)

    def _name(self, token: Token) -> str:
        if token.type == "QUOTED":
            if len(token) == 2:
                raise self._error("a name is not empty", token)
            return _unquote(token)
        if token in RESERVED:
            raise self._error(f"{str(token)!r} is a word of the language, not a name", token)
        return str(token)

    def _attribute(self, token: Token) -> str:
        return self._name(token) if token.type == "QUOTED" else str(token)

    def either(self, *parts: Condition) -> Condition:
        return _flat(Or, list(parts))

    def both(self, *parts: Condition) -> Condition:
        return _flat(And, list(parts))

    def part(self, atom: Condition, *windows: Window) -> Condition:
        return _bound(atom, windows)

    def group(self, condition: Condition) -> Condition:
        return condition

    def no(self, sign: Token, what: Counted) -> Condition:
        return No(what, (), sign.start_pos or 0)

    def event(self, name: Token, *filters: Filter | None) -> Event:
        return Event(self._name(name), tuple(found for found in filters if found is not None))

    def filter(self, name: Token, op: Token, value: Token) -> Filter:
        if value.type == "QUOTED":
            text = _unquote(value)
            # Quotes are kept only where they matter, so that equal values give equal trees.
            return Filter(self._attribute(name), str(op), Literal(text, NUMBER.fullmatch(text) is not None))
        return Filter(self._attribute(name), str(op), Literal(str(value)))

    def at_least(self, count: Token, event: Event) -> AtLeast:
        number = int(count) if len(count) <= 7 else 0
        if not 1 <= number <= MOST_COUNTED:
            raise self._error(f"at least N: N is from 1 to {MOST_COUNTED:,}", count)
        return AtLeast(number, event)

    def totalling(self, event: Event, attribute: Token, op: Token, amount: Token) -> Totalling:
        if op != ">=":
            raise self._error("a total is compared with >=", op)
        if NUMBER.fullmatch(amount) is None:
            raise self._error(f"{str(amount)!r} is no decimal such as 100 or 99.50", amount)
        return Totalling(event, self._attribute(attribute), str(amount))

    def life_cycle(self, state: Token, commitment: tuple[str, str | None]) -> LifeCycle:
        return LifeCycle(str(state), *commitment)

    def commitment(self, name: Token, instance: Token | None) -> tuple[str, str | None]:
        return self._attribute(name), None if instance is None else str(instance)[1:-1]

    def _instant(self, token: Token) -> Instant:
        try:
            return parse_instant(str(token))
        except ValueError as error:
            raise self._error(str(error), token) from None

    def by(self, at: Token) -> By:
        return By(self._instant(at))

    def before(self, at: Token) -> Before:
        return Before(self._instant(at))

    def after(self, at: Token) -> After:
        return After(self._instant(at))

    def within(self, duration: Token, of: Condition) -> Within:
        try:
            return Within(parse_duration(_SPACE.sub(" ", duration)), of)
        except ValueError as error:
            raise self._error(str(error), duration) from None
