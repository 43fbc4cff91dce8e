"""The items of a history or a ledger: each line or record, with the acts that it stands for, in words."""

import re
from dataclasses import dataclass
from typing import Final

from protocols.commitments.acts import Act
from protocols.core.canonical import JSON
from protocols.core.instants import Instant, show_instant

_WORD: Final = re.compile(r"[\w.+:/-]+")


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a history, or one record of a ledger: ``number`` is its place from 1, ``kind`` its kind.

    ``acts`` are its acts on commitments, ``reason`` is what its author gave as one. The texts are members' own.
    """

    number: int
    at: Instant
    by: str
    kind: str
    acts: tuple[Act, ...] = ()
    reason: str = ""
    answers: int | None = None
    """In a ledger: the record of the report that this item answers."""

    @property
    def said(self) -> str:
        """What it says, in words."""
        said = "; ".join(in_words(act, self.answers) for act in self.acts) or self.kind
        return f"{said}, because {_quoted(self.reason)}" if self.reason else said

    def plain(self) -> dict[str, JSON]:
        """Return the item as JSON."""
        return {
            "item": self.number,
            "at": show_instant(self.at),
            "by": self.by,
            "kind": self.kind,
            "acts": [_plain_act(act) for act in self.acts],
            "reason": self.reason or None,
            "said": self.said,
        }


def in_words(act: Act, answers: int | None = None) -> str:
    """Return *act* in words; *answers* is the record of the report that it answers, if that is known."""
    report = f"report {answers}" if answers is not None else f"the report {act.report}"
    match act.do:
        case "report":
            attributes = ", ".join(f"{key} = {_valued(value)}" for key, value in act.attributes.items())
            return f"reports {act.event}" + (f"({attributes})" if attributes else "")
        case "confirm" | "dispute":
            return f"{act.do}s {report}"
        case "decide":
            return f"decides that {report} {'holds' if act.holds else 'does not hold'}"
        case "delegate" | "assign":
            return f"{act.do}s {act.commitment} to {act.to}"
        case "suspend":
            return f"suspends {act.commitment}" + ("" if act.until is None else f" until {show_instant(act.until)}")
        case _:
            return f"{act.do}s {act.commitment}"


def _valued(text: str) -> str:
    """Return an attribute's value, quoted unless it is one plain word, so that no value imitates our own words."""
    return text if _WORD.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain_act(act: Act) -> dict[str, JSON]:
    """Return *act* as JSON; its texts are exact."""
    said: dict[str, JSON] = {"do": act.do}
    for key in ("commitment", "event", "report", "to", "holds"):
        value = getattr(act, key)
        if value is not None:
            said[key] = value
    if act.attributes:
        said["attributes"] = dict(act.attributes)
    if act.until is not None:
        said["until"] = show_instant(act.until)
    return said
