"""Sentences of the report: our words around members' texts, and the entries on which each sentence rests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swarm.text import visible


@dataclass(frozen=True, slots=True)
class Sentence:
    """``form`` is our text, with ``{}`` for each of ``texts``, which are members' own; ``at`` are positions on the log.

    The two are kept apart, so that the code that shows a sentence can escape and mark members' texts.
    """

    form: str
    texts: tuple[str, ...] = ()
    at: tuple[int, ...] = ()

    def plain(self) -> str:
        """Return the sentence on one line, members' texts made visible."""
        return self.form.format(*map(visible, self.texts))


def say(form: str, *texts: str, at: Iterable[int] = ()) -> Sentence:
    """Return a sentence; positions are sorted, each once, and 0 (no record) is left out."""
    return Sentence(form, texts, tuple(sorted({position for position in at if position})))


def listed(items: Sequence[str], last: str = "and") -> str:
    """Return *items*, which are ours, as ``a, b and c``."""
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def blanks(count: int, last: str = "and") -> str:
    """Return the form of a list of *count* texts: ``{}, {} and {}``."""
    return listed(["{}"] * count, last)


def count(number: int, one: str, many: str = "") -> str:
    """Return *number* with its noun: ``1 entry``, ``3 entries``, ``1,204 entries``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
