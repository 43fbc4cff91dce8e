"""`swarm explain`: why a room came to its result, and what a finding, a state, or a thing in a file means."""

from pathlib import Path
from typing import Annotated

import typer

from swarm.cli.output import console, print_json


def explain_command(
    first: Annotated[
        str,
        typer.Argument(metavar="LEDGER|NAME", help="A ledger; or a finding's code, a state.", show_default=False),
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="OPTION|MEMBER|COMMITMENT",
            help="What in the file to explain: an option's title, a member, a commitment, a claim, a record's number.",
            show_default=False,
        ),
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="The instant to look from (RFC 3339).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say why: this option, why not another, what would have changed it, what became of a promise.

    Examples: swarm explain room.jsonl · swarm explain room.jsonl "15% for three years" · swarm explain deadlock

    LEDGER alone is the whole room; a history (swarm track) works too. The file may also come last: NAME FILE.

    Exit codes: 0 explained, 2 bad input, or a name that means nothing.
    """
    from swarm.reasons.explain import explain

    name, file = told_apart(first, second)
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


def told_apart(first: str, second: str | None) -> tuple[str | None, Path | None]:
    """Return which of the two is the name and which the file, according to what exists.

    A single argument that is a word of ours is the name. If both are files, the ledger is the file; of two ledgers, the
    last.
    """
    from swarm.history.timeline import is_ledger
    from swarm.reasons.explain import is_word

    if second is None:
        alone = Path(first).is_file() and not is_word(first)
        return (None, Path(first)) if alone else (first, None)
    files = [Path(each).is_file() for each in (first, second)]
    if all(files):
        files = [is_ledger(first), not is_ledger(first) or is_ledger(second)]
    return (second, Path(first)) if files == [True, False] else (first, Path(second))
