"""`swarm report`: a ledger as one page to look at."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import console, print_json
from swarm.text import visible


def report_command(
    ledger: Annotated[Path, typer.Argument(help="A ledger file.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write (HTML).")],
    roster: Annotated[Path | None, typer.Option(help="Member name → public key; pins the identities.")] = None,
    receipt: Annotated[list[Path] | None, typer.Option(help="A member's receipt of the same room.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Write a ledger as one self-contained page: what was decided and why, what was promised, and how to check it.

    The page says what the audit says and needs no network, no script and no other file.

    Example: swarm report renewal.jsonl --roster renewal.roster.yaml -o renewal.html

    Exit codes are those of the audit: 0 verified, 1 failed, 2 bad input, 3 not failed but not shown. A page is written
    in all but 2.
    """
    from swarm.report import write_report

    reading = write_report(ledger, output, roster, receipt or ())
    verdict, entries = reading.audit.verdict, reading.audit.entries
    if as_json:
        print_json({"path": str(output), "bytes": output.stat().st_size, "verdict": verdict, "entries": entries})
    else:
        console().print(f"{visible(str(output))}: the report on {entries} entries, {verdict}")
    return reading.audit.exit_code()
