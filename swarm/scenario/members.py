"""Members as files describe them: who sits there, and with which mind.

There is one model for each kind of ``agent``; `swarm.scenario.minds.make_agent` turns its private part into the mind
itself, in the member's own process. A new kind of mind needs a model here, an entry in ``_KINDS`` of both modules, and
its class in `agents`.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, WithJsonSchema, model_validator

from agents.external import Exec
from agents.llm.mind import Llm
from agents.script import Script
from agents.utility import Utility
from protocols.core.message import Key, Message, Name, Text
from swarm.files.document import Source, load, validate
from swarm.scenario.accepting import Accepts
from swarm.scenario.hooks import On
from swarm.seat.mandate import Mandate

_CLASS = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"


class Seated(Message):
    """What every member has: its name in the room, its role, and its key if another process runs it.

    Its ``mandate`` bounds what its peer signs, whichever mind it has; like the mind, it stays with the member.
    """

    name: Name
    role: Text | None = None
    key: Key | None = None
    mandate: Mandate | None = None


class ScriptedMember(Seated, Script):
    """A member that answers from this file."""

    agent: Literal["scripted"] = "scripted"


class UtilityMember(Seated, Utility):
    """A member that scores offers by its own points."""

    agent: Literal["utility"]


class ExecMember(Seated, Exec):
    """A member whose mind is a command of the user's, in any language; its default folder is the scenario file's."""

    agent: Literal["exec"]


class LlmMember(Seated, Llm):
    """A member whose mind is a language model, of any provider or at any OpenAI-compatible server."""

    agent: Literal["llm"]


class HumanMember(Seated):
    """A member whose mind is a person, asked at the terminal of the process that seats it."""

    agent: Literal["human"]


class CustomMember(Seated):
    """A member whose mind is a class of the user's: ``package.module:Class``, called with ``args``."""

    agent: Annotated[str, WithJsonSchema({"type": "string", "pattern": _CLASS})]
    args: dict[str, Any] = Field(default_factory=dict)
    folder: str | None = None
    """Where the module is searched besides the import path; the default is beside the scenario file."""

    @model_validator(mode="before")
    @classmethod
    def _known_kind(cls, value: Any) -> Any:
        agent = value.get("agent") if isinstance(value, dict) else None
        if not isinstance(agent, str) or re.fullmatch(_CLASS, agent) is None:
            known = ", ".join(_KINDS)
            raise ValueError(f"agent: expected {known} or package.module:Class, found {agent!r}")
        return value


_KINDS = {
    "scripted": "ScriptedMember",
    "utility": "UtilityMember",
    "exec": "ExecMember",
    "llm": "LlmMember",
    "human": "HumanMember",
}


def _kind(member: Any) -> str:
    """Return the name of the model that a member's ``agent`` selects; error messages use it too."""
    agent = member.get("agent", "scripted") if isinstance(member, dict) else getattr(member, "agent", "scripted")
    return _KINDS.get(agent, "CustomMember") if isinstance(agent, str) else "CustomMember"


Member = Annotated[
    Annotated[ScriptedMember, Tag("ScriptedMember")]
    | Annotated[UtilityMember, Tag("UtilityMember")]
    | Annotated[ExecMember, Tag("ExecMember")]
    | Annotated[LlmMember, Tag("LlmMember")]
    | Annotated[HumanMember, Tag("HumanMember")]
    | Annotated[CustomMember, Tag("CustomMember")],
    Discriminator(_kind),
]


def _agent_file(value: Any) -> Any:
    """Read an agent file as a member without a name, what it accepts, and the commands to run."""
    if not isinstance(value, dict):
        return value
    if "name" in value or "member" in value:
        raise ValueError("an agent file is one member without a name: the room gives it one")
    beside = {key: value[key] for key in ("accepts", "on") if key in value}
    private = {key: item for key, item in value.items() if key not in beside}
    return {"member": {"name": "member", **private}, **beside}


class AgentFile(Message):
    """An agent file: one member's mind, what it accepts, and the commands that are run for events of its rooms."""

    member: Member
    accepts: Accepts = Field(default_factory=Accepts)
    on: On = Field(default_factory=On)

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        return _agent_file(value)


def read_agent(source: Source) -> AgentFile:
    """Return the agent file at a path or in plain data; raise `BadInput` with place and reason."""
    return validate(AgentFile, load(source))


def agent_config(member: Any) -> dict[str, Any]:
    """Return a member's private part as JSON, for its own process."""
    config: dict[str, Any] = member.model_dump(mode="json", by_alias=True, exclude_none=True)
    return config
