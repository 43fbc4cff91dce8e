"""`swarm check` and `swarm schema`: whether our files are right, and what they may contain."""

from pathlib import Path
from typing import Annotated, Any

import typer

from swarm.cli.output import print_json
from swarm.cli.schemas import KINDS, kind_of_document, schema_of
from swarm.errors import BadInput
from swarm.files.document import Document, read_document
from swarm.ledger.equivocation import BEGINS as PROOF_BEGINS
from swarm.ledger.equivocation import SAYS_NOT, Proof, read_proof
from swarm.text import visible


def check_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="A scenario, agent, table, history, history of deeds, ledger or proof.", show_default=False
        ),
    ],
) -> int:
    """Check one of our files; the first problem is named with its place and what is valid.

    Example: swarm check scenario.yaml
    """
    if _first(file).startswith(PROOF_BEGINS):
        _tell(file, read_proof(file))
        return 0
    kind, entries = _check(file)
    print(f"{file}: a valid {kind}" + (f" of {entries} entries; swarm audit replays it" if entries else ""))
    return 0


def _first(file: Path) -> bytes:
    try:
        with file.open("rb") as start:
            return start.read(10)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", source=str(file)) from None


def _check(file: Path) -> tuple[str, int]:
    if _first(file) == b'{"ledger":':
        from swarm.auditing.auditing import audit

        result = audit(file)
        if result.verdict == "failed":
            raise BadInput(result.findings[0]["text"], source=str(file))
        return "ledger", result.entries
    document: Document = read_document(file)
    kind = kind_of_document(document)
    if kind == "scenario":
        from swarm.scenario.scenario import read_scenario

        read_scenario(document)
    elif kind == "table":
        from swarm.files.table import read_table

        read_table(document)
    elif kind == "history":
        from swarm.history.tracking import track

        track(document)
    elif kind == "deeds":
        from swarm.history.refereeing import referee

        referee(document)
    else:
        from swarm.scenario.members import read_agent

        read_agent(document)
    return kind, 0


def _tell(file: Path, proof: Proof) -> None:
    """Say what a verified proof proves, and what it does not."""
    print(f"{file}: a valid proof that")
    for fact in proof.proves():
        print(f"  {visible(fact)}")
    print(f"the key is {proof.signer}\nIt does not say")
    for limit in SAYS_NOT:
        print(f"  {limit}")


def schema_command(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(KINDS)}.", show_default=False)],
) -> int:
    """Print the JSON Schema of one of our files.

    Example: swarm schema scenario > scenario.schema.json
    """
    schema: dict[str, Any] = schema_of(kind)
    print_json(schema)
    return 0
