"""Histories as plain data, and as the files that people read: what the examples beside this are written with."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from protocols.core.instants import DAY, HOUR, MINUTE, parse_instant, show_instant

Plain = dict[str, Any]
WIDTH: Final = 112

_BARE = re.compile(r"[A-Za-z][A-Za-z_-]*[A-Za-z0-9]*|[0-9]+ [a-z]+|[0-9-]{10}T[0-9:.]+(?:Z|[+-][0-9:]+)")
_WORDS = ("true", "false", "null")


@dataclass(frozen=True, slots=True)
class Variant:
    """One course that an example may take: what happens, and the history that `swarm.track` takes."""

    tells: str
    data: Plain


@dataclass(frozen=True, slots=True)
class Example:
    """A public rule as commitments, with the courses that it may take. ``folder`` holds their files."""

    folder: str
    title: str
    rule: str
    variants: Mapping[str, Variant]

    def files(self) -> dict[str, str]:
        """Return the text of every variant's file by its path beside this module."""
        return {f"{self.folder}/{name}.yaml": self._file(name, variant) for name, variant in self.variants.items()}

    def _file(self, name: str, variant: Variant) -> str:
        command = f"#\n#   swarm track examples/histories/{self.folder}/{name}.yaml\n#"
        return "\n".join([_remark(f"{self.title}: {variant.tells}"), command, _remark(self.rule), _yaml(variant.data)])


def later(at: str, *, days: int = 0, hours: int = 0, minutes: int = 0, microseconds: int = 0) -> str:
    """Return the instant that much after *at* (before it, if negative), in UTC."""
    return show_instant(parse_instant(at) + days * DAY + hours * HOUR + minutes * MINUTE + microseconds)


def operation(at: str, do: str, commitment: str, by: str, **more: str) -> Plain:
    """Return a line in which *by* does something to a commitment."""
    return {"at": at, "do": do, "commitment": commitment, "by": by, **more}


def report(at: str, event: str, by: str, name: str, **attributes: str) -> Plain:
    """Return a line in which *by* reports an event under the id *name*."""
    return {"at": at, "event": event, "by": by, "id": name, **attributes}


def answer(at: str, do: str, name: str, by: str, **more: Any) -> Plain:
    """Return a line in which *by* confirms, disputes or decides the report *name*."""
    return {"at": at, "do": do, "report": name, "by": by, **more}


def _remark(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="# ", subsequent_indent="# ")


def _yaml(data: Plain) -> str:
    lines: list[str] = []
    for key, value in data.items():
        if key == "commitments":
            lines += ["commitments:", *(line for terms in value for line in _terms(terms))]
        elif key == "history":
            lines += ["history:", *(f"  - {_flow(line)}" for line in value)]
        elif key == "events":
            lines += ["events:", *(f"  {event}: {_flow(rule)}" for event, rule in value.items())]
        else:
            lines.append(f"{key}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _terms(terms: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for key, value in terms.items():
        # A condition goes on over several lines as a plain scalar, which reads as one with single spaces.
        text = f"{key}: {value if key in ('if', 'then') else _flow(value)}"
        first = "    " if lines else "  - "
        lines += textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent="      ", break_on_hyphens=False)
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _BARE.fullmatch(value) and value not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
