"""`swarm referee`: the rules for acting alone, on a history of proposals, starts and results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from swarm.cli.output import console, print_json
from swarm.text import table, visible

if TYPE_CHECKING:
    from swarm.history.refereeing import RefereeResult


def referee_command(
    file: Annotated[Path, typer.Argument(help="A history of deeds (YAML or JSON).", show_default=False)],
    as_of: Annotated[str | None, typer.Option(help="The instant to look from (RFC 3339).")] = None,
    strict: Annotated[
        bool, typer.Option(help="Exit 4 if a person is asked, or a deed is half undone, let go of or not as meant.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say who may act, what each plan came to, and what was refused, in a history of deeds.

    Example: swarm referee deeds.yaml --as-of 2026-01-12T00:00:00Z

    Exit codes: 0 read, 2 bad input, 4 see --strict.
    """
    from swarm.history.refereeing import referee

    result = referee(file, as_of=as_of)
    if as_json:
        print_json(result.plain())
    else:
        _print(console(), result)
    return 4 if strict and not result.clean else 0


def _print(out: Console, result: "RefereeResult") -> None:
    plain = result.plain()
    out.print(f"as of {plain['as_of']}")
    rows = [
        [
            f"  {visible(name)}",
            plan["state"],
            visible(plan["why"] or ""),
            "" if plan["token"] is None else f"token {plan['token']}",
            f"waits for {visible(', '.join(plan['waits_for']))}" if plan["waits_for"] else "",
            f"owes {visible(', '.join(plan['owed']))}" if plan["owed"] else "",
        ]
        for name, plan in plain["plans"].items()
    ]
    for line in table(rows):
        out.print(line)
    held = {name: each["held_by"] for name, each in plain["resources"].items() if each["held_by"]}
    for name, plans in held.items():
        out.print(f"  {visible(name)} is held by {visible(', '.join(plans))}")
    for refused in plain["refused"]:
        out.print(f"  refused: item {refused['item']}: {refused['code']}: {visible(refused['why'])}")
    for finding in plain["findings"]:
        out.print(f"  finding: item {finding['item']}: {finding['code']}: {visible(finding['what'])}")
