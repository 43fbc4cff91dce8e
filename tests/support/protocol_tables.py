"""Makes the tables of docs/protocol from the models: ``python -m tests.support.protocol_tables`` writes them anew.

A table stands between two marks in its page; everything else there is written by hand.
"""

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import protocols.core.message
import protocols.messages.budget
import protocols.messages.claims
import protocols.messages.commitments
import protocols.messages.concord
from protocols.accord.steps import TABLE as ACCORD
from protocols.concord.steps import TABLE as CONCORD
from protocols.core.findings import CODES
from protocols.core.message import Message
from protocols.messages.accord import Interpretations, Readings
from protocols.messages.bodies import BODIES
from protocols.messages.concord import BallotContent, Proposal
from protocols.messages.room import RoomOpen
from protocols.room.closing import TABLE as CLOSING
from protocols.room.joining import JOINING_TABLE, PROMISING_TABLE
from protocols.room.room import STAGES
from protocols.stage.table import Table, picture

PAGES = Path(__file__).resolve().parents[2] / "docs" / "protocol"
SEALED = (Interpretations, Readings, Proposal, BallotContent)
_MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(\n<!-- end -->)", re.DOTALL)

FORMS: dict[str, tuple[Any, str]] = {
    "Slug": (
        get_type_hints(RoomOpen, include_extras=True)["slug"],
        "1 to 40 characters `a-z`, `0-9` and `-`, no hyphen at an end",
    ),
    "Text": (protocols.core.message.Text, "at most 20,000 characters"),
    "Words": (protocols.core.message.Words, "1 to 20,000 characters"),
    "Title": (protocols.core.message.Title, "1 to 200 characters"),
    "Name": (protocols.core.message.Name, "1 to 80 characters, as in [names.md](names.md)"),
    "Line": (protocols.core.message.Line, "1 to 80 characters, none of U+0000–001F and U+007F–009F"),
    "Who": (protocols.messages.commitments.Who, "a Name, `debtor(ID)` or `creditor(ID)`; at most 100 characters"),
    "Hex": (protocols.core.message.Hex, "64 characters `0-9a-f`"),
    "Key": (protocols.core.message.Key, "`U` and 55 characters `A-Z2-7`"),
    "Base64Url": (protocols.core.message.Base64Url, "1 to 400,000 characters `A-Za-z0-9_-`"),
    "StepId": (
        protocols.core.message.StepId,
        "at most 80 characters: `a-z`, then one or more times a dot and `a-z0-9`",
    ),
    "Decimal": (
        protocols.core.message.DecimalText,
        "a decimal: `-` or nothing, 1 to 30 digits without a leading zero, and a dot with 1 to 30 digits or nothing",
    ),
    "Amount": (protocols.messages.budget.Amount, "an integer from 1 to 2^53−1"),
    "Value": (protocols.messages.concord.Value, "an integer within ±(2^53−1), or a Title"),
    "Instant": (protocols.messages.commitments.InstantText, "RFC 3339 with an offset, at most 40 characters"),
    "Duration": (protocols.messages.commitments.DurationText, "as in docs/tracker.md, at most 80 characters"),
    "Condition": (protocols.messages.commitments.ConditionText, "1 to 4,000 characters, as in docs/tracker.md"),
    "CommitmentId": (
        protocols.messages.commitments.CommitmentId,
        "a Name without `[` and `]`",
    ),
    "CommitmentName": (
        protocols.messages.commitments.CommitmentName,
        "1 to 300 characters: an id, or one instance `id[value]`",
    ),
    "Label": (protocols.messages.claims.Label, "1 to 40 characters `A-Za-z0-9_-`"),
    "Reference": (protocols.messages.claims.Reference, "1 to 121 characters, none of U+0000–001F and U+007F–009F"),
    "Cites": (protocols.messages.claims.Cites, "a list of 1 to 20 Reference"),
    "Claims": (protocols.messages.claims.Claims, "a list of 1 to 20 Claim"),
}
"""The forms of text and numbers that have a name, with what each is."""


def form(kind: Any, metadata: tuple[Any, ...] = ()) -> str:
    """Return what a field of the type *kind* holds, in words."""
    for name, (known, _) in FORMS.items():
        if kind == known or (metadata and Annotated[(kind, *metadata)] == known):
            return name
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        return form(inner, (*more, *metadata))
    bounds = _bounds(metadata)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(form(branch, metadata) for branch in arguments if branch is not NoneType)
    if origin is Literal:
        return " or ".join(f"`{str(value).lower() if value is True else value}`" for value in arguments)
    if origin is list:
        return f"list of {_most(bounds)}{form(arguments[0])}"
    if origin is dict:
        return f"map of {_most(bounds)}{form(arguments[0])} → {form(arguments[1])}"
    if kind is int:
        return f"integer {bounds['ge']:,} to {bounds['le']:,}" if bounds else "integer"
    if kind is str and bounds.get("pattern"):
        return f"text `{bounds['pattern'].strip('^$')}`".replace("|", "\\|")
    return {str: "text", bool: "true or false", Any: "anything"}.get(kind) or kind.__name__


def _bounds(metadata: tuple[Any, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in metadata:
        if isinstance(item, StringConstraints):
            found |= {"pattern": item.pattern, "min_length": item.min_length, "max_length": item.max_length}
        for part in item.metadata if isinstance(item, FieldInfo) else (item,):
            for name in ("ge", "le", "min_length", "max_length", "pattern"):
                if getattr(part, name, None) is not None:
                    found[name] = getattr(part, name)
    return found


def _most(bounds: dict[str, Any]) -> str:
    least, most = bounds.get("min_length"), bounds.get("max_length")
    if least and most:
        return f"{least:,} to {most:,} "
    return f"at least {least:,} " if least else f"at most {most:,} " if most else ""


def fields(model: type[BaseModel]) -> list[tuple[str, str, str]]:
    """Return each field of *model*: its name on the wire, what it holds, and whether it must be there."""
    hints = get_type_hints(model, include_extras=True)
    rows = []
    for name, info in model.model_fields.items():
        metadata = tuple(item for item in info.metadata if not isinstance(item, StringConstraints))
        annotated = get_origin(hints[name]) is Annotated
        kind = form(hints[name], () if annotated else metadata)
        rows.append((info.alias or name, kind, _need(info)))
    return rows


def _need(info: FieldInfo) -> str:
    """Say whether a field must be there, and what it is if it is not."""
    default = info.get_default(call_default_factory=True, validated_data={})
    if default is PydanticUndefined:
        return "yes"
    if default is None:
        return "no"
    if isinstance(default, BaseModel):
        return "default: all its defaults"
    return f"default `{json.dumps(default) if isinstance(default, dict | list) else default}`"


def _table(model: type[BaseModel]) -> list[str]:
    rows = [row for row in fields(model) if row[0] != "kind"]
    lines = ["| field | holds | required |", "|---|---|---|"] if rows else []
    return lines + [f"| `{name}` | {kind} | {need} |" for name, kind, need in rows]


def _summary(model: type[BaseModel]) -> str:
    text = inspect.cleandoc(model.__doc__ or "").replace("``", "`")
    return re.sub(r"\s*\n(?!\n)\s*", " ", text.replace("\n\n", "\n")).strip()


def _used(models: tuple[type[Message], ...]) -> list[type[BaseModel]]:
    """Return the models that *models* are made of, each once, in the order in which they are first met."""
    found: list[type[BaseModel]] = []

    def walk(kind: Any) -> None:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if kind not in found:
                found.append(kind)
                for hint in get_type_hints(kind, include_extras=True).values():
                    walk(hint)
            return
        for inner in get_args(kind):
            walk(inner)

    for model in models:
        walk(model)
    return [model for model in found if model not in models]


def bodies() -> str:
    """Return a heading, the meaning and a table of fields for every kind of body."""
    parts = []
    for body in BODIES:
        parts += [f"### `{body.model_fields['kind'].default}`", "", _summary(body), "", *_table(body), ""]
    return "\n".join(parts).rstrip()


def sealed() -> str:
    """Return the same for the contents that are sealed."""
    parts = []
    for content in SEALED:
        parts += [f"### {content.__name__}", "", _summary(content), "", *_table(content), ""]
    return "\n".join(parts).rstrip()


def parts() -> str:
    """Return the same for the models that bodies and contents are made of."""
    lines = []
    for model in _used((*BODIES, *SEALED)):
        lines += [f"### {model.__name__}", "", _summary(model), "", *_table(model), ""]
    return "\n".join(lines).rstrip()


def forms() -> str:
    """Return the table of the named forms."""
    return "\n".join(["| form | is |", "|---|---|", *(f"| {name} | {what} |" for name, (_, what) in FORMS.items())])


def codes() -> str:
    """Return the table of finding codes."""
    rows = [f"| `{code}` | {severity.value} | {meaning} |" for code, (severity, meaning) in CODES.items()]
    return "\n".join(["| code | severity | means |", "|---|---|---|", *rows])


PICTURES: dict[str, Table] = {
    "stages": STAGES,
    "joining": JOINING_TABLE,
    "promising": PROMISING_TABLE,
    "accord": ACCORD,
    "concord": CONCORD,
    "closing": CLOSING,
}
"""The tables of steps that a page shows as a picture."""


def drawn(table: Table) -> Callable[[], str]:
    """Return what draws *table* as a block that GitHub and others show as a picture."""
    return lambda: f"```mermaid\n{picture(table)}\n```"


MAKERS: dict[str, Callable[[], str]] = {
    "bodies": bodies,
    "sealed": sealed,
    "parts": parts,
    "forms": forms,
    "codes": codes,
    **{name: drawn(table) for name, table in PICTURES.items()},
}


def renewed(text: str) -> str:
    """Return a page with its tables as the models give them today."""
    return _MARKED.sub(lambda found: found[1] + MAKERS[found[2]]() + found[3], text)


if __name__ == "__main__":
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(renewed(page.read_text("utf-8")), encoding="utf-8")
