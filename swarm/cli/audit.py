"""`swarm audit`: verify and replay ledgers offline."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from swarm.audit import AuditResult, audit
from swarm.cli.output import console, print_json, table
from swarm.text import visible

COLOURS = {"verified": "green", "incomplete": "yellow", "failed": "bold red"}


def audit_command(
    ledgers: Annotated[list[Path], typer.Argument(help="Ledger files.", show_default=False)],
    roster: Annotated[Path | None, typer.Option(help="Member name → public key; pins the identities.")] = None,
    receipt: Annotated[list[Path] | None, typer.Option(help="A member's receipt of the same room.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Show promises as of this instant (RFC 3339).")] = None,
    strict: Annotated[bool, typer.Option(help="Exit 4 if a promise is broken without remedy or left open.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Check a ledger against its signatures and recompute everything it claims.

    Example: swarm audit renewal.jsonl --roster renewal.roster.yaml

    Exit codes: 0 verified, 1 failed, 2 bad input or nothing to check, 3 not failed but not shown, 4 see --strict.
    """
    results = [audit(ledger, roster=roster, receipts=receipt or (), as_of=as_of) for ledger in ledgers]
    codes = [result.exit_code(strict=strict) for result in results]
    if as_json:
        if len(results) == 1:
            print_json(results[0].plain())
        else:
            print_json({"ledgers": [{"path": result.path, **result.plain()} for result in results]})
    else:
        out = console()
        for result in results:
            _print(out, result)
    # A failure anywhere fails the whole; what is not shown comes before what is broken.
    return next((code for code in (1, 3, 4) if code in codes), 0)


def _print(out: Console, result: AuditResult) -> None:
    out.print(f"{visible(result.path)}: ", end="")
    out.print(result.verdict.upper(), style=COLOURS[result.verdict], end="")
    checked = f"  {result.entries} entries checked"
    pinned = "identities pinned" if result.pinned else "identities NOT pinned"
    complete = "complete" if result.complete else "NOT shown complete"
    out.print(f"{checked}, {pinned}, {complete}, covered to {result.covered_to}")
    summary = result.summary
    if summary:
        reason = f": {visible(summary['reason'])}" if summary["reason"] else ""
        out.print(f"  room     {visible(summary['room'])}")
        out.print(f"  outcome  {summary['outcome']}{reason}")
        decision = summary["decision"]
        if decision is not None:
            offer = ", ".join(f"{visible(k)} {visible(str(v))}" for k, v in decision["option"]["offer"].items())
            title = visible(decision["option"]["title"])
            out.print(f"  decision {title}" + (f"  ({offer})" if offer else ""))
            who = visible(decision["least_satisfied"] or "nobody")
            out.print(f"           lowest {decision['vector'][0]} ({who}), by {decision['rule']}")
        for divergence in summary["divergences"]:
            a, b = divergence["between"]
            out.print(f"  meaning  {visible(divergence['term'])}: {visible(a)} ≠ {visible(b)}, {divergence['status']}")
        for name, state in summary["commitments"].items():
            out.print(f"  promise  {visible(name)}: {state}")
    rows = [
        [f"  {f['code']}", str(f["position"] or ""), visible(f["who"]), visible(f["text"])] for f in result.findings
    ]
    for line in table(rows, right=(1,)):
        out.print(line)
    out.print(f"  {result.plain()['says_not']}", style="dim")
