"""`swarm explain`: what a finding, a state, or a commitment in a file means, and what made it so."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import console, print_json


def explain_command(
    name: Annotated[str, typer.Argument(help="A finding's code, a state, or an id in FILE.", show_default=False)],
    file: Annotated[Path | None, typer.Argument(help="A history or a ledger.", show_default=False)] = None,
    as_of: Annotated[str | None, typer.Option(help="The instant to look from (RFC 3339).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say what a code or a state means; with a file, also how a commitment, member, line or record stands in it.

    Examples: swarm explain deadlock · swarm explain water history.yaml · swarm explain 41 room.jsonl

    Exit codes: 0 explained, 2 bad input, or a name that means nothing.
    """
    from swarm.explain import explain

    found = explain(name, file, as_of=as_of)
    if as_json:
        print_json({"explanations": [each.plain() for each in found]})
        return 0
    out = console()
    for place, each in enumerate(found):
        if place:
            out.print()
        for line in each.lines():
            out.print(line)
    return 0
