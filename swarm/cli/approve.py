"""`swarm approve`: a person's yes or no to what peers would sign."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swarm.cli.output import print_json
from swarm.errors import BadInput

if TYPE_CHECKING:
    from swarm.seat.approval import ApprovalRequest

SHORTEST = 4
"""How many characters of an id are enough to name it, if no other id begins with them."""


def approve_command(
    directory: Annotated[Path, typer.Argument(help="The --dir of the peer or the run.", show_default=False)],
    id_: Annotated[str | None, typer.Argument(metavar="[ID]", help="The request, or the beginning of its id.")] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Approve it.")] = False,
    no: Annotated[str | None, typer.Option("--no", metavar="REASON", help="Refuse it; the room reads why.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """List what waits for approval in DIR, or answer it; at a terminal, each is asked for.

    Nothing that a mandate's `approve` names is signed before somebody says yes here, or at the peer's own terminal.

    Example: swarm approve ./ben · swarm approve ./ben 3f9a --yes · swarm approve ./ben 3f9a --no "too dear for us"

    Exit codes: 0 listed or answered, 2 bad input.
    """
    from swarm.people.approving import answer_to, give_answer, requests_in, seconds_left
    from swarm.seat.approval import Approval

    if not directory.is_dir():
        raise BadInput("no such folder; name the --dir of a peer or a run", source=str(directory))
    if yes and no is not None:
        raise BadInput("say --yes or --no REASON, not both")
    if no is not None and not no.strip():
        raise BadInput("a refusal has a reason: --no REASON")
    if (yes or no is not None) and id_ is None:
        raise BadInput("name the request to answer; `swarm approve DIR` lists them")
    there = requests_in(directory)
    waiting = {
        request.id: (path, request)
        for path, request in there
        if answer_to(path) is None and ((left_s := seconds_left(request)) is None or left_s > 0)
    }
    if id_ is not None:
        known = {request.id: "answered already" for path, request in there if answer_to(path) is not None}
        chosen = _chosen(id_, list(waiting), known)
        waiting = {chosen: waiting[chosen]}
        if yes or no is not None:
            path, _ = waiting[chosen]
            give_answer(path, Approval(approved=yes, because=None if no is None else no.strip()))
            if as_json:
                print_json({"id": chosen, "approved": yes})
            else:
                print(f"{chosen[:12]}: {'approved' if yes else 'refused'}")
            return 0
    if as_json:
        print_json({"pending": [request.plain() for _, request in waiting.values()]})
        return 0
    if not waiting:
        print("nothing waits for approval here")
    asyncio.run(_each(directory, list(waiting.values())))
    return 0


def _chosen(id_: str, waiting: list[str], answered: dict[str, str]) -> str:
    found = [each for each in waiting if each.startswith(id_)] if len(id_) >= SHORTEST else []
    if len(found) == 1:
        return found[0]
    if not found and len(id_) >= SHORTEST and any(each.startswith(id_) for each in answered):
        raise BadInput(f"{id_} is answered already")
    valid = ", ".join(each[:12] for each in waiting) or "none waits"
    what = "names several" if found else "is none that waits for an answer"
    raise BadInput(f"{id_!r} {what}; valid: {valid}")


async def _each(directory: Path, waiting: list[tuple[Path, "ApprovalRequest"]]) -> None:
    """Show each request; at a terminal, also take the answer."""
    from agents.human.forms import Left
    from swarm.people.approving import ask_for, give_answer, show_request
    from swarm.people.terminal import PlainScreen, TtyTerminal

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        for _, request in waiting:
            await show_request(PlainScreen(sys.stdout), request)
            print(f"  answer with: swarm approve {directory} {request.id[:12]} --yes, or --no REASON")
        return
    terminal = TtyTerminal(os.ttyname(sys.stdin.fileno()))
    for path, request in waiting:
        try:
            async with terminal.turn() as screen:
                answer = await ask_for(screen, request)
                try:
                    give_answer(path, answer)
                except BadInput as error:
                    await screen.say("  {}", error)
        except Left:
            continue
