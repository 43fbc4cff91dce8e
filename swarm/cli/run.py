"""`swarm run`: run a scenario and show what happens."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import console, print_json
from swarm.cli.server import TlsCa
from swarm.cli.view import RunView


def run_command(
    scenario: Annotated[Path, typer.Argument(help="The scenario file (YAML or JSON).", show_default=False)],
    ledger: Annotated[Path | None, typer.Option(help="Write the signed ledger here.")] = None,
    roster: Annotated[Path | None, typer.Option(help="Write the members' public keys here.")] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Keep store and keys here; the same command resumes a run cut off.")
    ] = None,
    server: Annotated[str | None, typer.Option(help="Use this NATS server instead of an embedded one.")] = None,
    tls_ca: TlsCa = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Open a room, start one process a member, and see it through.

    Example: swarm run examples/renewal.yaml --ledger renewal.jsonl --roster renewal.roster.yaml

    Exit codes: 0 agreed, 1 ended without agreement, 2 bad input, 3 abandoned.
    """
    from swarm.running.running import run

    view = RunView(console(stderr=as_json), console(stderr=True), quiet=as_json)
    shown = Shown()
    result = run(
        scenario,
        ledger=ledger,
        roster=roster,
        directory=directory,
        server=server,
        tls_ca=tls_ca if server is not None else None,
        watch=lambda fold: shown.show(lambda: view.show(fold)),
    )
    shown.show(lambda: print_json(result.plain()) if as_json else view.finish(result, roster))
    return result.exit_code


class Shown:
    """Shows a run for as long as somebody reads: a closed pipe ends neither the run nor the files that it writes."""

    def __init__(self) -> None:
        self._gone = False

    def show(self, print_it: Callable[[], object]) -> None:
        """Print, unless the reader has gone."""
        if self._gone:
            return
        try:
            print_it()
        except (BrokenPipeError, SystemExit):  # rich turns the one into the other
            self._gone = True
