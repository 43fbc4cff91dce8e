"""The kinds of file that people write, how to tell them apart, and the JSON Schema of each and of a command's lines."""

from typing import Any

from pydantic import BaseModel, TypeAdapter

from protocols.core.message import DECIMAL_PATTERN
from swarm.errors import BadInput
from swarm.files.document import Document

KINDS = ("scenario", "agent", "table", "history", "deeds", "ledger", "duty")

LEDGER_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "One line of a ledger file (JSON Lines, canonical JSON)",
    "oneOf": [
        {
            "title": "header, the first line",
            "type": "object",
            "properties": {"ledger": {"const": 1}, "room": {"type": "string"}},
            "required": ["ledger", "room"],
            "additionalProperties": False,
        },
        {
            "title": "record of a valid entry",
            "type": "object",
            "properties": {
                "entry": {"type": "object"},
                "position": {"type": "integer", "minimum": 1},
                "stored": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$"},
            },
            "required": ["entry", "position", "stored"],
            "additionalProperties": False,
        },
        {
            "title": "record of bytes that are no valid entry",
            "type": "object",
            "properties": {
                "author": {"type": "string"},
                "position": {"type": "integer", "minimum": 1},
                "raw": {"type": "string", "contentEncoding": "base64"},
                "stored": {"type": "string"},
            },
            "required": ["author", "position", "raw", "stored"],
            "additionalProperties": False,
        },
        {
            "title": "closing checkpoint, the last line; alone in a file it is a receipt",
            "type": "object",
            "properties": {
                "checkpoint": {
                    "type": "object",
                    "properties": {
                        "by": {"type": "string"},
                        "count": {"type": "integer", "minimum": 0},
                        "head": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                        "room": {"type": "string"},
                        "sig": {"type": "string"},
                    },
                    "required": ["by", "count", "head", "room", "sig"],
                    "additionalProperties": False,
                }
            },
            "required": ["checkpoint"],
            "additionalProperties": False,
        },
    ],
}


def kind_of_document(document: Document) -> str:
    """Return the kind of *document*, judged by its contents; raise `BadInput` if it is not one of our files."""
    data = document.data
    keys = set(data) if isinstance(data, dict) else set()
    if {"actions", "members"} <= keys and not keys & {"intent", "agenda"}:
        return "deeds"
    for kind, telling in (
        ("scenario", {"room", "intent"}),
        ("table", {"options", "ballots"}),
        ("history", {"parties", "history", "commitments"}),
        ("agent", {"agent", "accepts"}),
    ):
        if keys & telling:
            return kind
    raise document.error((), "not one of our files: a scenario has room and members, a table options and ballots, "
                             "a history parties and commitments, a history of deeds actions and members, "
                             "an agent file agent and accepts")  # fmt: skip


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of file; raise `BadInput` for another word."""
    if kind == "ledger":
        return LEDGER_SCHEMA
    if kind == "duty":
        from agents import wire

        return wire.schema()
    if kind == "agent":
        return _agent_schema()
    schema: dict[str, Any] = _as_written(_model(kind).model_json_schema(by_alias=True))
    return schema


def _agent_schema() -> dict[str, Any]:
    """Return the schema of an agent file: one member without its name, what it accepts, and the commands to run."""
    from swarm.scenario.accepting import Accepts
    from swarm.scenario.hooks import On
    from swarm.scenario.members import Member

    schema: dict[str, Any] = _as_written(TypeAdapter(Member).json_schema(by_alias=True))
    accepts = _as_written(Accepts.model_json_schema(by_alias=True))
    schema["$defs"] |= accepts.pop("$defs")
    for model in schema["$defs"].values():
        if {"name", "agent"} <= model.get("properties", {}).keys():
            del model["properties"]["name"]
            model["properties"]["accepts"] = accepts
            model["properties"]["on"] = _as_written(On.model_json_schema(by_alias=True))
            model["required"] = [field for field in model["required"] if field != "name"]
    return schema


def _as_written(schema: Any) -> Any:
    """Let decimals be numbers too: people write 12.5, and the file's reader makes the text that entries carry."""
    if isinstance(schema, list):
        return [_as_written(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "string" and schema.get("pattern") == DECIMAL_PATTERN:
        return {"anyOf": [schema, {"type": "number"}]}
    if {each.get("type") for each in schema.get("anyOf", ()) if isinstance(each, dict)} == {"integer", "string"}:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "number"}]}
    return {key: _as_written(item) for key, item in schema.items()}


def _model(kind: str) -> type[BaseModel]:
    if kind == "scenario":
        from swarm.scenario.scenario import Scenario

        return Scenario
    if kind == "table":
        from swarm.files.table import Table

        return Table
    if kind == "history":
        from swarm.history.tracking import History

        return History
    if kind == "deeds":
        from swarm.history.refereeing import Deeds

        return Deeds
    raise BadInput(f"{kind!r} is no kind of file; valid: {', '.join(KINDS)}")
