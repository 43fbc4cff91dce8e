"""`swarm audit`: verify and replay ledgers offline."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from swarm.auditing.auditing import AuditResult, audit, read_roster
from swarm.auditing.comparing import KINDS as FORK_KINDS
from swarm.auditing.comparing import Comparison, compare
from swarm.cli.output import console, print_json
from swarm.cli.promises import Wanted, fulfil
from swarm.errors import BadInput
from swarm.history.timeline import Timeline, read_timeline
from swarm.ledger.equivocation import find_proofs, write_proofs
from swarm.ledger.file import ledger_room, read_checkpoint
from swarm.text import fingerprint, named, table, visible

EXIT_BAD_INPUT = 2
COLOURS = {"verified": "green", "incomplete": "yellow", "contested": "bold yellow", "failed": "bold red"}


def audit_command(
    ledgers: Annotated[list[Path], typer.Argument(help="Ledger files.", show_default=False)],
    roster: Annotated[Path | None, typer.Option(help="Member name → public key; pins the identities.")] = None,
    receipt: Annotated[list[Path] | None, typer.Option(help="A member's receipt of the same room.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Show promises as of this instant (RFC 3339).")] = None,
    strict: Annotated[
        bool, typer.Option(help="Exit 3 if a state rests on one member's word, 4 if a promise is broken or left open.")
    ] = False,
    commitments: Annotated[
        bool, typer.Option("--commitments", help="Show all ledgers' open promises, by debtor and due date.")
    ] = False,
    diff: Annotated[
        tuple[str, str] | None, typer.Option(metavar="T1 T2", help="Show what changed after T1, up to T2, and why.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the promises' states as CSV.")] = None,
    graph: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what depends on what (.mmd, .dot, .svg).")
    ] = None,
    proof: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a proof of each equivocation; swarm check verifies one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Check a ledger against its signatures and recompute everything it claims.

    Several ledgers of one room, such as one of each member, are also held against each other: where they hold
    different logs, all of them fail.

    Examples: swarm audit renewal.jsonl --roster renewal.roster.yaml · swarm audit ann.jsonl bob.jsonl --proof p.json

    Exit codes: 0 verified, 1 failed, 2 bad input or nothing to check, 3 contested or not shown, 4 see --strict.
    """
    wanted = Wanted(diff=diff, due=commitments, by_debtor=True, csv=csv, graph=graph)
    inputs = [*ledgers, *(receipt or []), *([roster] if roster is not None else [])]
    wanted.check(inputs)
    if proof is not None:
        Wanted(csv=proof).check([*inputs, *(path for path in (csv, graph) if path is not None)])
    as_of = wanted.as_of(as_of)
    pins = None if roster is None else read_roster(roster)
    receipts = _by_ledger(ledgers, receipt or [])
    checked = [_check(ledger, pins, receipts[ledger], as_of) for ledger in ledgers]
    out = None if as_json else console()
    for result in checked:
        if isinstance(result, BadInput):
            print(f"swarm: {visible(str(result))}", file=sys.stderr)
        elif out is not None:
            _print(out, result)
    comparisons = compare(result for result in checked if isinstance(result, AuditResult))
    if out is not None:
        for comparison in comparisons:
            _print_comparison(out, comparison)
    proofs = None if proof is None else _prove(proof, checked, receipt or [], out)
    more = fulfil(wanted, _timelines(checked, as_of) if wanted.anything else [], out)
    if as_json:
        shown = [_plain(ledger, result, many=len(ledgers) > 1) for ledger, result in zip(ledgers, checked, strict=True)]
        together = {"ledgers": shown, "comparison": [comparison.plain() for comparison in comparisons]}
        told = {} if proofs is None else {"proofs": proofs}
        print_json({**(together if len(shown) > 1 else shown[0]), **told, **more})
    codes = [r.exit_code(strict=strict) if isinstance(r, AuditResult) else EXIT_BAD_INPUT for r in checked]
    codes += [1 for comparison in comparisons if comparison.forks]
    # A failure anywhere fails the whole; what is not shown comes before what is broken.
    return next((code for code in (1, EXIT_BAD_INPUT, 3, 4) if code in codes), 0)


def _check(
    ledger: Path, pins: dict[str, str] | None, receipts: list[Path], as_of: str | None
) -> AuditResult | BadInput:
    """Audit one of several ledgers; an unreadable one does not keep the others from being checked."""
    try:
        return audit(ledger, roster=pins, receipts=receipts, as_of=as_of)
    except BadInput as problem:
        return problem


def _timelines(checked: Sequence[AuditResult | BadInput], as_of: str | None) -> list[Timeline]:
    """Return the promises of each ledger that could be read, as far as it holds, with its verdict."""
    return [read_timeline(result.path, as_of, checked=result) for result in checked if isinstance(result, AuditResult)]


def _plain(ledger: Path, result: AuditResult | BadInput, *, many: bool) -> dict[str, Any]:
    plain = {"verdict": None, "entries": 0, "error": str(result)} if isinstance(result, BadInput) else result.plain()
    return {"path": str(ledger), **plain} if many else plain


def _by_ledger(ledgers: list[Path], receipts: list[Path]) -> dict[Path, list[Path]]:
    """Return the receipts to compare with each ledger: with several, those of its room.

    A receipt for none is an error.
    """
    if len(ledgers) == 1:
        return {ledgers[0]: receipts}
    rooms = {ledger: ledger_room(ledger) for ledger in ledgers} if receipts else {}
    found: dict[Path, list[Path]] = {ledger: [] for ledger in ledgers}
    for receipt in receipts:
        room = read_checkpoint(receipt).room
        if room not in rooms.values():
            raise BadInput(f"a receipt of the room {room}, of which no ledger is given", source=str(receipt))
        for ledger, its_room in rooms.items():
            if its_room == room:
                found[ledger].append(receipt)
    return found


def _prove(
    path: Path, checked: Sequence[AuditResult | BadInput], receipts: Sequence[Path], out: Console | None
) -> list[dict[str, Any]]:
    """Write the proofs that the ledgers and receipts contain to *path* and beside it; return them as JSON."""
    ledgers = list(dict.fromkeys(Path(result.path) for result in checked if isinstance(result, AuditResult)))
    proofs = [found.proof for found in find_proofs(ledgers, map(read_checkpoint, receipts))]
    paths = write_proofs(path, proofs)
    if out is not None:
        for each, proof in zip(paths, proofs, strict=True):
            out.print(f"{visible(str(each))}: a proof that {' and that '.join(map(visible, proof.proves()))}")
        if not proofs:
            out.print("no proof to write: no key contradicted itself here")
    return [{"path": str(each), **proof.plain()} for each, proof in zip(paths, proofs, strict=True)]


def _print_comparison(out: Console, comparison: Comparison) -> None:
    out.print(f"{visible(comparison.room)}: ", end="")
    if comparison.forks:
        out.print("the ledgers CONTRADICT each other", style="bold red")
    else:
        out.print("the ledgers hold one log", style="green")
    for path, behind in comparison.behind.items():
        if behind:
            records = "one record" if behind == 1 else f"{behind} records"
            out.print(f"  {visible(path)} is {records} behind; that is no contradiction")
    for fork in comparison.forks:
        out.print(f"  fork at record {fork.position}: {FORK_KINDS[fork.kind]}", style="yellow")
        for version in fork.versions:
            out.print(f"    {', '.join(map(visible, version.ledgers))}: {visible(version.record)}")
            by = ", ".join(f"{visible(name)} up to {count}" for name, count in version.signed.items())
            keys = ", ".join(map(fingerprint, version.exporters))
            out.print(f"      signed by {by or 'no member'}" + (f"; exported by {keys}" if keys else ""))
        for name in fork.both:
            out.print(f"    {visible(name)} has signed more than one of them", style="yellow")
    _print_limits(out, comparison.says_not)


def _print_limits(out: Console, limits: Sequence[str]) -> None:
    out.print("  It does not say", style="dim")
    for limit in limits:
        out.print(f"    {visible(limit)}", style="dim")


def _print(out: Console, result: AuditResult) -> None:
    out.print(f"{visible(result.path)}: ", end="")
    out.print(result.verdict.upper(), style=COLOURS[result.verdict], end="")
    checked = f"  {result.entries} entries checked"
    pinned = "identities pinned" if result.pinned else "identities NOT pinned"
    complete = "complete" if result.complete else "NOT shown complete"
    out.print(f"{checked}, {pinned}, {complete}, covered to {result.covered_to}")
    for contest in result.contested:
        out.print(f"  contest  {visible(contest['text'])}", style="yellow")
    if result.contested:
        out.print(f"  stands   {_stands(result)}")
    summary = result.summary
    if summary:
        reason = f": {visible(summary['reason'])}" if summary["reason"] else ""
        out.print(f"  room     {visible(summary['room'])}")
        out.print(f"  intent   {visible(summary['intent'])}")
        if summary["rehearsal"] is not None:
            second, start = visible(summary["rehearsal"]["second"]), visible(summary["rehearsal"]["agreed_at"])
            told = f"  REHEARSAL: from the agreement on, dated {start}, 1 s of the log counts as {second}"
            out.print(told, style="yellow")
        members = ", ".join(named(name, key) for name, key in result.members.items())
        out.print(f"  members  {members}")
        out.print(f"  exporter {_exporter(result)}")
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
        for name, promise in result.promises.items():
            caveat = result.caveats.get(name, promise.state)
            told = promise.state if caveat == promise.state else f"{promise.state}, {visible(caveat)}"
            out.print(f"  promise  {visible(name)}: {told}")
    rows = [
        [f"  {f['code']}", str(f["position"] or ""), visible(f["who"]), visible(f["text"])] for f in result.findings
    ]
    for line in table(rows, right=(1,)):
        out.print(line)
    _print_limits(out, result.says_not)


def _exporter(result: AuditResult) -> str:
    """Return who closed the ledger, and how far the members have signed it."""
    exporter, names = result.exporter, result.members
    if exporter is None:
        who = "unknown: no checkpoint closes it"
    elif exporter.member is None:
        who = f"{fingerprint(exporter.key)}, not a member"
    else:
        who = named(exporter.member, exporter.key)
    signed = ", ".join(f"{visible(name)} to {result.signed.get(name, 0)}" for name in names)
    return f"{who}; signed by {signed}"


def _stands(result: AuditResult) -> str:
    """Return what stands of a contested ledger."""
    if not result.stands:
        return "nothing"
    records = "record 1" if result.stands == 1 else f"records 1 to {result.stands}"
    decided = ", the decision included" if result.complete and result.summary["decision"] is not None else ""
    return f"{records}{decided}: whoever contests what follows has signed them as they stand here"
