"""`swarm say` and `swarm receipt`: say one thing in a room as a member, and sign a checkpoint of it."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from protocols.commitments.acts import ANSWERS, OPERATIONS
from protocols.core.canonical import canonical
from protocols.core.message import Message
from protocols.messages.bodies import first_problem
from protocols.messages.commitments import (
    ACTS,
    REPORT,
    CreateCommitment,
    ReportEvent,
)
from protocols.messages.room import Leave, Tick
from protocols.stage.stage import Refused
from swarm.cli.output import print_json
from swarm.cli.server import TlsCa
from swarm.errors import BadInput
from swarm.files.document import from_data, read_document, validate
from swarm.signed.identity import Identity
from swarm.text import visible

EXIT_REFUSED = 1


def _attributes(pairs: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadInput(f"{pair!r} is no attribute; write name=value")
        if name in found:
            raise BadInput(f"the attribute {name!r} stands twice")
        found[name] = value
    return found


def _create(arguments: Sequence[str], because: str | None) -> Message:
    document = read_document(_one(arguments, "FILE"))
    data = document.data if isinstance(document.data, list) else [document.data]
    return validate(CreateCommitment, from_data({"commitments": data}, source=document.source))


def _one(arguments: Sequence[str], what: str) -> str:
    if len(arguments) != 1:
        raise BadInput(f"expected one {what}, found {len(arguments)} words")
    return arguments[0]


def _on(kind: type[Message]) -> Callable[[Sequence[str], str | None], Message]:
    """Return a function that makes a body about a commitment (or a report), with a reason if its kind has one."""
    field = "report" if "report" in kind.model_fields else "commitment"

    def make(arguments: Sequence[str], because: str | None) -> Message:
        said = {field: _one(arguments, field.upper())}
        return kind(**said, **_because(kind, because))

    return make


def _to(kind: type[Message]) -> Callable[[Sequence[str], str | None], Message]:
    def make(arguments: Sequence[str], because: str | None) -> Message:
        if len(arguments) != 2:
            raise BadInput("expected COMMITMENT and the NAME it goes to")
        return kind(commitment=arguments[0], to=arguments[1], **_because(kind, because))  # type: ignore[call-arg]

    return make


def _because(kind: type[Message], because: str | None) -> dict[str, str]:
    if because is None:
        return {}
    if "because" not in kind.model_fields:
        raise BadInput("this takes no --because")
    return {"because": because}


def _until(kind: type[Message]) -> Callable[[Sequence[str], str | None], Message]:
    def make(arguments: Sequence[str], because: str | None) -> Message:
        if not 1 <= len(arguments) <= 2:
            raise BadInput("expected COMMITMENT, and the instant UNTIL which it is suspended if there is one")
        until = arguments[1] if len(arguments) == 2 else None
        return kind(commitment=arguments[0], until=until, **_because(kind, because))  # type: ignore[call-arg]

    return make


def _offer(kind: type[Message]) -> Callable[[Sequence[str], str | None], Message]:
    def make(arguments: Sequence[str], because: str | None) -> Message:
        if len(arguments) != 2:
            raise BadInput(
                "expected COMMITMENT and the id of its DELEGATION; swarm rooms shows both, and what it binds to"
            )
        return kind(commitment=arguments[0], offer=arguments[1], **_because(kind, because))  # type: ignore[call-arg]

    return make


def _holds(kind: type[Message]) -> Callable[[Sequence[str], str | None], Message]:
    def make(arguments: Sequence[str], because: str | None) -> Message:
        if len(arguments) != 2 or arguments[1] not in ("holds", "fails"):
            raise BadInput("expected REPORT and holds or fails")
        return kind(report=arguments[0], holds=arguments[1] == "holds", **_because(kind, because))  # type: ignore[call-arg]

    return make


def _report(arguments: Sequence[str], because: str | None) -> Message:
    if not arguments:
        raise BadInput("expected EVENT and its attributes as name=value")
    _because(ReportEvent, because)
    return ReportEvent(event=arguments[0], attributes=_attributes(arguments[1:]))


def _leave(arguments: Sequence[str], because: str | None) -> Message:
    if arguments or because is None:
        raise BadInput("leaving takes --because and nothing else")
    return Leave(because=because)


def _tick(arguments: Sequence[str], because: str | None) -> Message:
    if arguments or because is not None:
        raise BadInput("a tick says nothing")
    return Tick()


def _act(kind: type[Message]) -> Callable[[Sequence[str], str | None], Message]:
    """Return a function that makes a body of *kind* from words, according to what it needs besides its subject."""
    if kind is CreateCommitment:
        return _create
    if kind is ReportEvent:
        return _report
    for field, made in {"to": _to, "until": _until, "holds": _holds, "offer": _offer}.items():
        if field in kind.model_fields:
            return made(kind)
    return _on(kind)


SAYINGS: dict[str, Callable[[Sequence[str], str | None], Message]] = {
    **{verb: _act(ACTS[verb]) for verb in (REPORT, *ANSWERS, *OPERATIONS)},
    "leave": _leave,
    "tick": _tick,
}


def body_of(what: str, arguments: Sequence[str], because: str | None) -> Message:
    """Return the body for *what* with its *arguments*, or raise `BadInput` saying how to write it."""
    if what not in SAYINGS:
        raise BadInput(f"{what!r} is nothing to say; valid: {', '.join(SAYINGS)}")
    try:
        return SAYINGS[what](arguments, because)
    except ValidationError as error:
        raise BadInput(f"{what}: {first_problem(error)}") from None
    except BadInput as error:
        raise BadInput(f"{what}: {error}") from None


def say_command(
    room: Annotated[str, typer.Argument(help="The room's full name.", show_default=False)],
    what: Annotated[str, typer.Argument(help="What to say, see below.", show_default=False)],
    words: Annotated[list[str] | None, typer.Argument(help="What it is about.", show_default=False)] = None,
    *,
    key: Annotated[Path, typer.Option(help="The member's key file.")],
    server: Annotated[str, typer.Option(help="The NATS server that holds the room.")],
    tls_ca: TlsCa = None,
    because: Annotated[str | None, typer.Option(help="The reason, where one can be given.")] = None,
    outbox: Annotated[
        Path | None, typer.Option(help="Keep what is signed in this file before it is sent, not in the key's folder.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Report once more what was reported before.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say one thing in a room as a member.

    What can be said: report EVENT [name=value …], confirm REPORT, dispute REPORT, decide REPORT holds|fails,
    create FILE, cancel, release, waive or resume COMMITMENT, delegate or assign COMMITMENT NAME,
    accept COMMITMENT DELEGATION, suspend COMMITMENT [UNTIL], leave, tick.

    What is signed is kept first, in a folder of the key's own (XDG_STATE_HOME or ~/.local/state, then swarm/KEY): a
    command that failed can be given again, and nothing is said twice. A report that was made before is "already said".

    Example: swarm say acme-renewal-abc… report paid amount=100 --key me.key --server nats://127.0.0.1:4222

    Exit codes: 0 said, now or before, 1 the rules would refuse it (nothing is said), 2 bad input, 3 the log is out of
    reach or refuses it.
    """
    from swarm.visit.saying import say

    body = body_of(what, words or [], because)
    identity = Identity.load(key)
    try:
        said = asyncio.run(say(room, body, identity, server, outbox=outbox, again=again, tls_ca=tls_ca))
    except Refused as refused:
        if as_json:
            print_json({"said": False, "code": refused.code, "why": refused.why})
        else:
            typer.echo(f"swarm: not said: {refused.code}: {visible(refused.why)}", err=True)
        return EXIT_REFUSED
    if as_json:
        findings = [finding.plain() for finding in said.findings]
        first = None if said.first is None else {"id": said.first.id, "kind": said.first.kind}
        told = {"already": said.already, "first": first, "findings": findings}
        print_json({"said": True, "id": said.id, "position": said.position, **told})
    else:
        if said.first is not None:
            print(f"said first, as it was signed by an earlier command: {visible(said.first.kind)} {said.first.id}")
        print(f"{'already said' if said.already else 'said'} at {said.position}: {said.id}")
        for finding in said.findings:
            print(f"  {finding.code}: {visible(finding.text)}")
    return 0


def receipt_command(
    room: Annotated[str, typer.Argument(help="The room's full name.", show_default=False)],
    key: Annotated[Path, typer.Option(help="The member's key file.")],
    server: Annotated[str, typer.Option(help="The NATS server that holds the room.")],
    tls_ca: TlsCa = None,
    outbox: Annotated[Path | None, typer.Option(help="Where `swarm say` was told to keep what it signs.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it here instead of stdout.")] = None,
) -> int:
    """Sign how far a room's log goes now, and its head there; an audit takes it with --receipt.

    Nothing is signed where the log lacks what this key has said, or shows its entries on another log.

    Example: swarm receipt acme-renewal-abc… --key me.key --server nats://127.0.0.1:4222 -o me.receipt
    """
    from swarm.visit.saying import sign_receipt

    receipt = asyncio.run(sign_receipt(room, Identity.load(key), server, outbox=outbox, tls_ca=tls_ca))
    line = canonical(receipt.plain()).decode()
    if output is None:
        print(line)
        return 0
    try:
        output.write_text(line + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"the receipt cannot be written: {error.strerror}", source=str(output)) from None
    print(output)
    return 0
