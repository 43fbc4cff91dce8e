"""Handles: short names by which a language model refers to things, and the problems of an answer that uses them."""

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from protocols.core.message import Message
from protocols.messages.bodies import first_problem

MOST_PROBLEMS = 6
"""How many problems a model is told at once."""


class Problem(ValueError):
    """What is wrong with an answer, worded for the model that gave it."""


T = TypeVar("T")
M = TypeVar("M", bound=Message)


class Handles(Generic[T]):
    """Short names for things of one kind: a letter, and the place from 1."""

    def __init__(self, letter: str, items: Iterable[T]) -> None:
        self.of: dict[str, T] = {f"{letter}{number}": item for number, item in enumerate(items, 1)}

    def __getitem__(self, handle: str) -> T:
        if handle not in self.of:
            raise Problem(f"{handle!r} is none of {', '.join(self.of) or 'nothing'}")
        return self.of[handle]

    def handle(self, item: T) -> str:
        """Return the handle of *item*."""
        return next(handle for handle, held in self.of.items() if held == item)

    def each(self, said: Sequence[M], field: str, wanted: Iterable[str] | None = None) -> dict[str, M]:
        """Return *said* by the handle in its *field*; raise `Problem` unless each of *wanted* occurs exactly once."""
        expected = list(self.of if wanted is None else wanted)
        found: dict[str, M] = {}
        problems = []
        for item in said:
            handle = getattr(item, field)
            if handle not in expected:
                problems.append(f"{handle!r} is none of {', '.join(expected)}")
            elif handle in found:
                problems.append(f"{handle} stands twice")
            found[handle] = item
        missing = [handle for handle in expected if handle not in found]
        problems += [f"{', '.join(missing)} missing"] if missing else []
        if problems:
            raise Problem("; ".join(problems[:MOST_PROBLEMS]))
        return found


def problems_of(error: ValidationError) -> str:
    """Return what a validation found wrong, for the first few places."""
    found = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:MOST_PROBLEMS]:
        place = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        found.append(f"{place}: {message}" if place else message)
    return "; ".join(found)


def checked(model: type[M], place: str, **fields: Any) -> M:
    """Return *model* made of the given *fields*; raise `Problem` at *place*."""
    try:
        return model.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        raise Problem(f"{place}: {first_problem(error)}") from None
