"""From a member's private part to its mind, in the member's own process.

A mind's module is imported when a mind of its kind is made: a scripted member loads no language model's code, no
terminal and no reader of YAML.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agents.agent import Agent
from swarm.errors import BadInput
from swarm.scenario.importing import instantiate

_BESIDE = ("name", "role", "key", "agent", "mandate", "person")
"""What a member's private part contains besides the fields of its kind of mind."""


def make_agent(config: Mapping[str, Any]) -> Agent:
    """Return the mind that *config* (see `swarm.scenario.members.agent_config`) describes, with its mandate if any.

    Its part ``person`` says where people are asked (`swarm.people.approving.people_for`). Raises `BadInput` if its
    class cannot be imported, its command cannot be run, or its model cannot be asked.
    """
    mind, mandate = _mind(config), config.get("mandate")
    if mandate is None:
        return mind
    from swarm.people.approving import approver_at
    from swarm.seat.mandate import Mandate
    from swarm.seat.mandated import Mandated

    return Mandated(mind, Mandate.model_validate(mandate), approver_at(config.get("person")))


def _mind(config: Mapping[str, Any]) -> Agent:
    private = {key: value for key, value in config.items() if key not in _BESIDE}
    make = _KINDS.get(config.get("agent", "scripted"))
    if make is not None:
        return make(private, config)
    return instantiate(str(config["agent"]), private.get("args", {}), private.get("folder"))


def _scripted(private: Mapping[str, Any], config: Mapping[str, Any]) -> Agent:
    from agents.script import Script
    from agents.scripted import Scripted

    return Scripted(Script.model_validate(private))


def _utility(private: Mapping[str, Any], config: Mapping[str, Any]) -> Agent:
    from agents.utility import Utility, UtilityMind

    return UtilityMind(Utility.model_validate(private))


def _exec(private: Mapping[str, Any], config: Mapping[str, Any]) -> Agent:
    from agents.external import Exec, ExternalMind

    command = Exec.model_validate(private)
    problem = command.problem()
    if problem is not None:
        raise BadInput(f"agent exec of {config['name']}: {problem[0]}: {problem[1]}")
    return ExternalMind(command, str(config["name"]))


def _llm(private: Mapping[str, Any], config: Mapping[str, Any]) -> Agent:
    from agents.llm.completions import CannotAsk
    from agents.llm.mind import Llm, LlmMind

    try:
        return LlmMind(Llm.model_validate(private))
    except CannotAsk as error:
        raise BadInput(f"agent llm of {config['name']}: {error}") from None


def _human(private: Mapping[str, Any], config: Mapping[str, Any]) -> Agent:
    from agents.human.mind import Human
    from swarm.people.approving import terminal_at

    return Human(terminal_at(config.get("person")))


_KINDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Agent]] = {
    "scripted": _scripted,
    "utility": _utility,
    "exec": _exec,
    "llm": _llm,
    "human": _human,
}
