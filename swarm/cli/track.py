"""`swarm track`: the commitment tracker alone, on a history of events."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from swarm.cli.output import console, print_json
from swarm.text import table, visible

if TYPE_CHECKING:
    from swarm.history.tracking import TrackResult


def track_command(
    file: Annotated[Path, typer.Argument(help="A history (YAML or JSON).", show_default=False)],
    as_of: Annotated[str | None, typer.Option(help="The instant to look from (RFC 3339).")] = None,
    strict: Annotated[bool, typer.Option(help="Exit 4 if a promise is broken without remedy or left open.")] = False,
    diff: Annotated[
        tuple[str, str] | None, typer.Option(metavar="T1 T2", help="Show what changed after T1, up to T2, and why.")
    ] = None,
    due: Annotated[bool, typer.Option("--due", help="Show the open promises by what is due next.")] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the states as CSV.")] = None,
    graph: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what depends on what (.mmd, .dot, .svg).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say what became of each promise in a history.

    Examples: swarm track history.yaml --as-of 2026-01-12T00:00:00Z
    · swarm track history.yaml --diff 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z · swarm track history.yaml --graph a.svg

    Exit codes: 0 read, 2 bad input, 4 see --strict.
    """
    from swarm.cli.promises import Wanted, fulfil
    from swarm.files.document import load
    from swarm.history.timeline import read_timeline
    from swarm.history.tracking import track

    wanted = Wanted(diff=diff, due=due, csv=csv, graph=graph)
    wanted.check([file])
    as_of = wanted.as_of(as_of)
    document = load(file)
    result = track(document, as_of=as_of)
    timelines = [read_timeline(document, as_of)] if wanted.anything else []
    out = None if as_json else console()
    if out is not None:
        _print(out, result)
    more = fulfil(wanted, timelines, out)
    if out is None:
        print_json(result.plain() | more)
    return 4 if strict and not result.clean else 0


def _print(out: Console, result: "TrackResult") -> None:
    plain = result.plain()
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
