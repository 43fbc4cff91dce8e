"""docs/mcp.md says what is so: its files have their clients' form, its commands the options that there are."""

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from swarm.cli.verbs import load
from swarm.mcp.forms import FORMS, LONGEST_WAIT_S, USUAL_WAIT_S

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "mcp.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def options_of(verb: str) -> dict[str, Any]:
    command = load(verb)
    return {name: option for option in command.params for name in (*option.opts, *option.secondary_opts)}


def check_arguments(arguments: list[str]) -> None:
    """Fail unless these are options of `swarm mcp` with a value each, with all that it needs."""
    assert arguments[0] == "mcp"
    names, values = arguments[1::2], arguments[2::2]
    known = options_of("mcp")
    assert len(names) == len(values)
    assert set(names) <= set(known)
    assert {name for name, option in known.items() if option.required} <= set(names)
    assert not [value for value in values if value.startswith("--")]


@pytest.mark.parametrize("block", blocks("json"))
def test_each_settings_file_starts_the_command_as_it_is(block: str) -> None:
    """Protects who copies a block: it is JSON, and its arguments are taken by today's command."""
    settings = json.loads(block)
    (servers,) = settings.values()
    assert set(settings) <= {"mcpServers", "servers"}
    assert servers["swarm"]["command"].endswith("/swarm")
    assert ("type" in servers["swarm"]) == ("servers" in settings)
    check_arguments(servers["swarm"]["args"])


def test_the_commands_and_the_program_parse() -> None:
    """Protects who copies a line: the client's command hands on arguments that there are, the Python is Python."""
    (line,) = re.findall(r"^claude mcp add .*$", PAGE, re.MULTILINE)
    words = shlex.split(line)
    assert words[words.index("--") + 1].endswith("/swarm")
    check_arguments(words[words.index("--") + 2 :])
    (program,) = blocks("python")
    assigned = [node for node in ast.parse(program).body if isinstance(node, ast.Assign)]
    check_arguments(next(ast.literal_eval(node.value) for node in assigned if node.targets[0].id == "ARGUMENTS"))  # type: ignore[attr-defined]


def test_the_table_has_every_tool_and_the_page_every_outcome() -> None:
    """Protects readers: no tool is missing, none is made up, and each outcome that the code gives is explained."""
    table = PAGE.partition("## The tools")[2].partition("\n\nArguments")[0]
    named = [
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert sorted(named) == sorted(FORMS)
    code = (Path(__file__).resolve().parents[3] / "swarm" / "mcp" / "desk.py").read_text("utf-8")
    outcomes = set(re.findall(r'"outcome": "(\w+)"', code))
    explained = PAGE.partition("| `outcome` |")[2].partition("\n\n")[0]
    assert outcomes == set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in explained.splitlines()[2:])))
    assert f"(0–{LONGEST_WAIT_S}, else {USUAL_WAIT_S})" in table
