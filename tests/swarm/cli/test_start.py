"""A call loads what it needs: the list of verbs stands for the verbs, and nothing else is imported for it."""

import inspect
import subprocess
import sys

import pytest
import typer

from swarm.cli.verbs import VERBS, load


def loaded(code: str) -> set[str]:
    """Return the modules that *code* loads in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(done.stderr.split())


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_told_in_the_list_as_it_tells_itself(verb: str) -> None:
    """Protects the help: what the list says without loading a verb is the beginning of the verb's own help."""
    told = inspect.cleandoc(load(verb).help or "").split("\n\n")[0].replace("\n", " ")
    assert told == VERBS[verb][1]


def test_a_verb_called_through_the_list_is_the_verb_itself() -> None:
    """Protects calls: options, help and exit code are those of the verb's own function."""
    assert {parameter.name for parameter in load("decide").params} == {"file", "as_json"}
    assert isinstance(load("keys"), typer.core.TyperGroup)


def test_the_list_of_verbs_loads_no_rules_no_minds_and_no_network() -> None:
    """Protects the first second: help is there before anything of ours that is large."""
    modules = loaded(
        "from swarm.cli.app import app\nsys.argv = ['swarm', '--help']\n"
        "try:\n    app(standalone_mode=False)\nexcept SystemExit:\n    pass"
    )
    assert not modules & {
        "protocols",
        "agents",
        "nats",
        "asyncio",
        "pydantic",
        "lark",
        "ruamel",
        "networkx",
        "rich.console",
    }


def test_a_scripted_member_loads_no_other_mind() -> None:
    """Protects runs of many: a process that seats a script loads no model, no terminal, no command and no YAML."""
    modules = loaded(
        "import swarm.running.member\nfrom swarm.scenario.minds import make_agent\n"
        "make_agent({'name': 'ann', 'agent': 'scripted'})"
    )
    others = {"agents.llm", "agents.human", "agents.external", "agents.utility_model", "swarm.people"}
    assert not modules & {*others, "ruamel", "networkx", "numpy", "typer", "rich.console", "jinja2", "mcp"}
