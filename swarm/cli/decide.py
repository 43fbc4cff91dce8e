"""`swarm decide`: the Concord selection alone."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import console, print_json
from swarm.files.table import decide
from swarm.text import table, visible


def decide_command(
    file: Annotated[Path, typer.Argument(help="A table of scores (YAML or JSON).", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say which option a table of scores selects, and why.

    Example: swarm decide table.yaml

    Exit codes: 0 accepted, 1 anything but accepted, 2 bad input.
    """
    result = decide(file)
    if as_json:
        print_json(result.plain())
    else:
        out = console()
        rows = [["outcome", result.outcome]]
        if result.standing is not None:
            rows += [
                ["winner" if result.winner else "standing", visible(result.winner or result.standing)],
                ["scores", ", ".join(str(score) for score in result.vector)],
                ["by", str(result.rule)],
            ]
            if len(result.tied) > 1:
                rows.append(["tied", ", ".join(map(visible, result.tied))])
            if result.least_satisfied is not None:
                rows.append(["least satisfied", visible(result.least_satisfied)])
        for option, members in result.objections.items():
            rows.append(["objections", f"{visible(option)}: {', '.join(map(visible, members))}"])
        for member, why in result.why_void.items():
            rows.append(["void", f"{visible(member)}: {result.void[member]} ({visible(why)})"])
        if result.missing:
            rows.append(["missing", ", ".join(map(visible, result.missing))])
        if result.also is not None:
            rows.append(["adding up", visible(result.also.sum)])
            rows.append(["the median", visible(result.also.median)])
        for line in table(rows):
            out.print(line)
    return 0 if result.outcome == "accepted" else 1
