"""What fuzzers are made of: JSON values of every kind, changes of a JSON value at one place, and how many examples."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

LARGEST = 2**53 - 1
Path = tuple[str | int, ...]

TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "",
            " ",
            "a" * 81,
            "x" * 20_001,
            "0" * 64,
            "ann",
            "bob",
            "task",
            "agreed",
            "2026-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999Z",
            "0001-01-01T00:00:00+23:59",
            "3000000 days",
            "999999999999 weeks",
            "P999999999999W",
            "booked within 9999999 days of agreed",
            "violated(table)",
            "violated(table[1])",
            "\ue000\U00010000",
            "\u202e\u200b",
            "\x1b[31m",
            "=1+1",
            "1e999",
            "-0",
            "9" * 30,
            "0." + "9" * 30,
        ]
    ),
)
"""Text, with what has a meaning somewhere in a room, and what is at a limit."""

INTEGERS = st.one_of(st.integers(-3, 101), st.sampled_from([LARGEST, -LARGEST, 2**31, 31_536_000, 10**9]))
SCALARS = st.one_of(st.none(), st.booleans(), INTEGERS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
"""A JSON value without floats."""

SHORT = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LONG = settings(SHORT, derandomize=False)


def fuzzed(short: int, long: int) -> Callable[[Any], Any]:
    """Give a test *examples*: settings for *short* examples, always the same; and, marked long, for *long* new ones."""
    return pytest.mark.parametrize(
        "examples",
        [
            pytest.param(settings(SHORT, max_examples=short), id="some"),
            pytest.param(settings(LONG, max_examples=long), id="many", marks=pytest.mark.long),
        ],
    )


def places(plain: Any, path: Path = ()) -> list[Path]:
    """Return the path of every value in *plain*, the holders' too, *plain* itself first."""
    found = [path]
    if isinstance(plain, dict):
        for key, value in plain.items():
            found += places(value, (*path, key))
    elif isinstance(plain, list):
        for place, value in enumerate(plain):
            found += places(value, (*path, place))
    return found


def at(plain: Any, path: Path) -> Any:
    """Return the value at *path*."""
    for step in path:
        plain = plain[step]
    return plain


def changed(plain: Any, path: Path, change: Callable[[Any, Any], None]) -> Any:
    """Return a copy of *plain* in which *change* was made to the holder of *path* at its last step."""
    copy = json.loads(json.dumps(plain))
    change(at(copy, path[:-1]), path[-1])
    return copy


@st.composite
def changes(draw: st.DrawFn, plain: Any) -> Any:
    """Draw *plain* with one to three changes: a value replaced, removed, added, repeated, or moved to another place."""
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(plain)))
        if not path:
            plain = draw(VALUES) if draw(st.integers(0, 9)) == 0 else plain
            continue
        how = draw(st.sampled_from(["replace", "remove", "add", "repeat", "move"]))
        value = draw(VALUES) if how in ("replace", "add") else None
        if how == "move":
            value = json.loads(json.dumps(at(plain, draw(st.sampled_from(places(plain))))))
        key = draw(TEXTS)
        plain = changed(
            plain, path, lambda holder, last, how=how, value=value, key=key: _do(how, holder, last, value, key)
        )
    return plain


def _do(how: str, holder: Any, last: Any, value: Any, key: str) -> None:
    if how == "remove":
        del holder[last]
    elif how == "repeat":
        holder[last] = [holder[last], holder[last]]
    elif how == "add" and isinstance(holder, dict):
        holder[key] = value
    elif how == "add":
        holder.append(value)
    else:
        holder[last] = value


def others(value: Any) -> list[Any]:
    """Return values near *value* and far from it, none equal to it."""
    if isinstance(value, bool) or value is None:
        found: list[Any] = [None, True, False, 0, ""]
    elif isinstance(value, int):
        found = [value + 1, value - 1, -value, str(value), None]
    elif isinstance(value, str):
        last = value[-1:]
        found = [
            value + "x",
            value[:-1],
            value[:-1] + ("0" if last != "0" else "1"),
            value.upper(),
            "",
            None,
            value + "\u200b",
        ]
    else:
        found = [
            None,
            "",
            *([{}, [value]] if value else [[value]]),
            *([[*value, value[-1]]] if isinstance(value, list) and value else []),
        ]
    return [other for other in found if type(other) is not type(value) or other != value]


def put(value: Any) -> Callable[[Any, Any], None]:
    return lambda holder, last: holder.__setitem__(last, value)


def _rename(holder: Any, last: Any) -> None:
    holder[last + "x"] = holder.pop(last)


def one_field_changed(plain: Any, neighbour: Any) -> Iterator[list[tuple[str, Any]]]:
    """Yield for every field *plain* with it changed in all ways: others, none, a neighbour's, renamed, one more."""
    for path in places(plain):
        value = at(plain, path)
        where = ".".join(map(str, path))
        ways = [(f"{where}+x", changed(plain, (*path, "x"), put(1)))] if isinstance(value, dict) else []
        if path:
            ways += [(f"{where}={other!r}", changed(plain, path, put(other))) for other in others(value)]
            ways.append((f"-{where}", changed(plain, path, lambda holder, last: holder.pop(last))))
            if isinstance(path[-1], str):
                ways.append((f"{where} renamed", changed(plain, path, _rename)))
            with suppress(KeyError, IndexError, TypeError):
                if (theirs := at(neighbour, path)) != value:
                    ways.append((f"{where}~", changed(plain, path, put(theirs))))
        yield ways
