"""`swarm track`: the commitment tracker alone, on a history of events."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import console, print_json, table
from swarm.text import visible


def track_command(
    file: Annotated[Path, typer.Argument(help="A history (YAML or JSON).", show_default=False)],
    as_of: Annotated[str | None, typer.Option(help="The instant to look from (RFC 3339).")] = None,
    strict: Annotated[bool, typer.Option(help="Exit 4 if a promise is broken without remedy or left open.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say what became of each promise in a history.

    Example: swarm track history.yaml --as-of 2026-01-12T00:00:00Z

    Exit codes: 0 read, 2 bad input, 4 see --strict.
    """
    from swarm.track import track

    result = track(file, as_of=as_of)
    plain = result.plain()
    if as_json:
        print_json(plain)
    else:
        out = console()
        out.print(f"as of {plain['as_of']}")
        rows = [
            [
                f"  {visible(name)}",
                c["state"],
                c["since"] or "",
                f"{visible(c['debtor'])} → {visible(c['creditor'])}",
                "" if c["remedy"] == "none" else f"remedy {c['remedy']}",
                ", ".join(c["notes"]),
            ]
            for name, c in plain["commitments"].items()
        ]
        for line in table(rows):
            out.print(line)
        for refused in plain["refused"]:
            out.print(f"  refused: item {refused['item']}: {refused['code']}: {visible(refused['why'])}")
        for finding in plain["findings"]:
            out.print(f"  finding: {finding['code']}: {visible(finding['text'])}")
    return 4 if strict and not result.clean else 0
