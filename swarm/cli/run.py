"""`swarm run`: run a scenario and show what happens."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import console, print_json
from swarm.cli.view import RunView


def run_command(
    scenario: Annotated[Path, typer.Argument(help="The scenario file (YAML or JSON).", show_default=False)],
    ledger: Annotated[Path | None, typer.Option(help="Write the signed ledger here.")] = None,
    roster: Annotated[Path | None, typer.Option(help="Write the members' public keys here.")] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Keep store and keys here; the same command resumes a run cut off.")
    ] = None,
    server: Annotated[str | None, typer.Option(help="Use this NATS server instead of an embedded one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Open a room, start one process a member, and see it through.

    Example: swarm run examples/renewal.yaml --ledger renewal.jsonl --roster renewal.roster.yaml

    Exit codes: 0 agreed, 1 ended without agreement, 2 bad input, 3 abandoned.
    """
    from swarm.run import run

    view = RunView(console(stderr=as_json), console(stderr=True), quiet=as_json)
    result = run(scenario, ledger=ledger, roster=roster, directory=directory, server=server, watch=view.show)
    if as_json:
        print_json(result.plain())
    else:
        view.finish(result, roster)
    return result.exit_code
