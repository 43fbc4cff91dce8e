"""From a document to a model, or to one message that says where the problem is, what is wrong, and what is valid.

Pydantic reports every way in which data fails to fit; this module chooses the one report that helps, and words it.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Protocol, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from swarm.errors import BadInput
from swarm.files.scalars import NOT_A_NUMBER, UnheldNumber, describe, quote

M = TypeVar("M", bound=BaseModel)
Path = tuple[str | int, ...]
"""A place in a document: keys and, in lists, places from 0."""

_SIMPLE_KEY = re.compile(r"[^\W\d][\w-]{0,79}")
_REPORTS = 100
"""How many reports are considered. A file that is wrong on every line needs one message, not the best of 100,000."""

_KINDS = {
    "int": "a whole number",
    "string": "text",
    "bool": "true or false",
    "dict": "a mapping",
    "model": "a mapping",
    "model_attributes": "a mapping",
    "list": "a list",
    "tuple": "a list",
    "none_required": "nothing (null)",
    "decimal": "a decimal number",
}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


class Placed(Protocol):
    """Data that knows the place of each of its parts."""

    @property
    def data(self) -> Any:
        """The data to validate."""

    def line(self, path: Path) -> int | None:
        """Return the line of a place."""

    def error(self, path: Path, message: str) -> BadInput:
        """Return an error with *message* about a place."""


def dotted(path: Path) -> str:
    """Write *path* in the usual notation: ``ballots.A.scores["12% off"]``, ``history[3].by``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _SIMPLE_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text


def validate(model: type[M], document: Placed) -> M:
    """Return *document* as *model*; raise `BadInput` with one message if it does not fit."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise _complaint(model, document, error.errors(include_url=False)[:_REPORTS]) from None


def _complaint(model: type[BaseModel], document: Placed, errors: Sequence[ErrorDetails]) -> BadInput:
    placed = [(_align(error, document.data), error) for error in errors]
    # A value that fits one branch of a union fails the others by its type alone: the deeper error is the relevant one.
    paths = [path for path, _ in placed]
    telling = [
        (path, error)
        for path, error in placed
        if not (
            _kind(error) in _KINDS and any(len(other) > len(path) and other[: len(path)] == path for other in paths)
        )
    ]
    # A misspelt field is a missing one as well: report the spelling, which is the cause.
    unknown = next(((path, error) for path, error in telling if error["type"] == "extra_forbidden"), None)
    if unknown is not None:
        return document.error(unknown[0], _unknown(model, unknown[1]))
    path, _ = min(telling, key=lambda pair: document.line(pair[0]) or 0)
    here = [error for other, error in telling if other == path]
    return document.error(path, _in_words(here))


def _align(error: ErrorDetails, data: Any) -> Path:
    """Return the part of pydantic's ``loc`` that exists in *data*; its other steps name branches of unions.

    A tag may also be a key of the data, so every reading is tried. A reading that ends at the offending value is right;
    otherwise the longest is; otherwise the one whose last step comes last.
    """
    loc, complained = error["loc"], error["input"]
    best: tuple[tuple[bool, int, int], Path] = ((False, 0, -1), ())
    stack: list[tuple[int, int, Any, Path]] = [(0, -1, data, ())]
    while stack:
        index, last, node, path = stack.pop()
        if index == len(loc):
            best = max(best, ((node is complained, len(path), last), path), key=lambda found: found[0])
            continue
        step = loc[index]
        stack.append((index + 1, last, node, path))
        in_list = isinstance(node, list) and isinstance(step, int) and 0 <= step < len(node)
        if in_list or (isinstance(node, dict) and step in node):
            stack.append((index + 1, index, node[step], (*path, step)))
    return best[1]


def _kind(error: ErrorDetails) -> str:
    return error["type"].removesuffix("_type")


def _unknown(model: type[BaseModel], error: ErrorDetails) -> str:
    field = str(error["loc"][-1])
    valid = sorted({name for found in _models_at(model, error["loc"][:-1]) for name in _field_names(found)})
    close = difflib.get_close_matches(field, valid, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"unknown field {quote(field)}{hint} (valid: {', '.join(valid)})"


def _field_names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the models that are possible at *loc*; tags of unions among its steps narrow the choice."""
    types: list[Any] = [model]
    for step in loc:
        branches = [branch for kind in types for branch in _branches(kind)]
        tagged = [branch for branch in branches if len(branches) > 1 and _is_tagged(branch, step)]
        types = tagged or [kind for branch in branches for kind in _below(branch, step)] or branches
    return [found for kind in types for found in _branches(kind) if _is_model(found)]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _branches(kind: Any) -> Iterator[Any]:
    """Yield the plain types behind *kind*: members of unions, and the types that aliases and annotations wrap."""
    if get_origin(kind) is Annotated:
        yield from _branches(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for branch in get_args(kind):
            yield from _branches(branch)
    elif hasattr(kind, "__value__"):  # typing_extensions.TypeAliasType
        yield from _branches(kind.__value__)
    else:
        yield kind


def _below(kind: Any, step: str | int) -> Iterator[Any]:
    if _is_model(kind):
        for name, field in kind.model_fields.items():
            if step in (name, field.alias):
                yield field.annotation
    elif isinstance(step, int):
        yield from (inner for inner in get_args(kind)[:1] if get_origin(kind) is not dict)
    elif issubclass(get_origin(kind) or object, dict):
        yield get_args(kind)[1]


def _is_tagged(kind: Any, tag: str | int) -> bool:
    if not _is_model(kind):
        return False
    literals = (field.annotation for field in kind.model_fields.values() if get_origin(field.annotation) is Literal)
    return kind.__name__ == tag or any(tag in get_args(literal) for literal in literals)


def _in_words(errors: Sequence[ErrorDetails]) -> str:
    """Say what is wrong at one place, from all of pydantic's reports about it."""
    first = errors[0]
    kinds = [_expected(error) for error in errors]
    missing = [str(error["loc"][-1]) for error in errors if error["type"] == "missing"]
    if missing:
        return f"the field {missing[0]} is missing" if len(missing) == 1 else f"missing fields: {', '.join(missing)}"
    if isinstance(first["input"], UnheldNumber):
        return f"{first['input']} is {NOT_A_NUMBER}"
    if all(kinds):
        alternatives = list(dict.fromkeys(kind for kind in kinds if kind))
        hint = ""
        if alternatives == ["text"] and not isinstance(first["input"], dict | list | None):
            hint = "; put it in quotes"
        return f"expected {' or '.join(alternatives)}, found {describe(first['input'])}{hint}"
    return next(_one(error) for error, kind in zip(errors, kinds, strict=True) if not kind)


def _expected(error: ErrorDetails) -> str | None:
    """Say what is valid in place of a value of the wrong kind; ``None`` if the kind is not the problem."""
    if error["type"] in ("literal_error", "enum"):
        return str(error["ctx"]["expected"])
    return _KINDS.get(_kind(error))


def _one(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    value = describe(error["input"])
    match error["type"]:
        case "value_error":
            return str(context["error"])
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            words, bound = next((words, context[sign]) for sign, words in _BOUNDS.items() if sign in context)
            return f"must be {words} {bound}, found {value}"
        case "string_too_short" | "too_short" if context["min_length"] == 1:
            return "must not be empty"
        case "string_too_short" | "too_short":
            return f"must hold at least {context['min_length']} {_unit(error)}, found {value}"
        case "string_too_long" | "too_long":
            return f"must hold at most {context['max_length']} {_unit(error)}"
        case "string_pattern_mismatch":
            return f"{value} is not of the form {context['pattern']}"
        case "union_tag_invalid":
            tags = context["expected_tags"]
            return f"{context['discriminator']} must be one of {tags}, found {quote(str(context['tag']))}"
        case "union_tag_not_found":
            return f"one field must say what this is: {context['discriminator']}"
        case _:
            return error["msg"].replace("Input should be", "expected", 1) + f", found {value}"


def _unit(error: ErrorDetails) -> str:
    return "characters" if error["type"].startswith("string") else "items"
