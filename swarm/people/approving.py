"""Asking a person for approval: at a terminal, or through files in a folder."""

import asyncio
import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agents.human.forms import EXCUSE, LATER, NO, YES, Left, Screen, Terminal, come_back, in_words
from protocols.core.instants import SECOND
from swarm.clock import utc_now
from swarm.errors import BadInput
from swarm.files.writing import replace_text
from swarm.seat.approval import Approval, ApprovalRequest, Approver

LOOK_EVERY_S = 0.25
"""How often to look for an answer in a folder."""
ANSWER = ".answer.json"


async def show_request(screen: Screen, request: ApprovalRequest) -> None:
    """Show what a yes would sign."""
    from agents.human import sheet

    await screen.say()
    await screen.say("── {} ──", request.room, strong=True)
    await screen.say("APPROVAL for {}: " + _binds(request), request.member, strong=True)
    await screen.say("  question  {}", request.intent)
    if request.option is not None:
        await sheet.option(screen, request.option, "→")
        await screen.say(
            f"  scores {', '.join(map(str, request.vector or ()))}; decided by {{}}", request.rule or "nothing"
        )
    for still_open in request.open or ():
        between = still_open.get("between", [])
        who = " and ".join(map(str, between)) if isinstance(between, list) else str(between)
        await screen.say("  still open: {} mean different things by {}", who, still_open.get("term", ""))
    if request.by is not None:
        await screen.say("  {} offers it{}", request.by, f", because {request.because}" if request.because else "")
    if request.promises:
        await screen.say("  {} would be debtor of:", request.member)
        await sheet.promises(screen, request.promises)
    if request.bound_up:
        await screen.say("  bound up with that, as it stands:")
        await sheet.promises(screen, request.bound_up)
    await screen.say("  signed would be: {}", json.dumps(request.body, ensure_ascii=False, sort_keys=True))
    left_s = seconds_left(request)
    if left_s is not None:
        await screen.say(f"  {in_words(left_s)} left, until {{}}", request.until)


def _binds(request: ApprovalRequest) -> str:
    """Say what kind of thing would be signed."""
    return {
        "concord.ratify": "its signature under the outcome",
        "commitment.create": "promises of its own",
        "commitment.accept": "taking over a promise",
    }[request.body["kind"]]


def seconds_left(request: ApprovalRequest) -> float | None:
    """Return how long *request* can still be answered; None means as long as its room lasts."""
    from protocols.core.instants import parse_instant

    return None if request.until is None else (parse_instant(request.until) - utc_now()) / SECOND


async def ask_for(screen: Screen, request: ApprovalRequest) -> Approval:
    """Show *request* and return the person's answer; raise `Left`."""
    await show_request(screen, request)
    while True:
        text = await screen.line(f"Approve? [yes · no REASON · {LATER}]: ")
        word, _, because = ("" if text is None else text.strip()).partition(" ")
        because = because.strip()
        if text is None or (word.lower() == LATER and not because):
            raise Left
        if word.lower() in YES and not because:
            return Approval(approved=True)
        if word.lower().rstrip(":") in (*NO, EXCUSE) and because:
            return Approval(approved=False, because=because)
        if word == "?":
            await show_request(screen, request)
            continue
        await screen.say(f"  not taken: yes, or no with its reason: no REASON; {LATER} leaves it")


class TerminalApprover:
    """Asks at the terminal of the peer's process."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Return what the person says; a request that was put aside is asked again when the person returns."""
        shown = False
        try:
            while True:
                try:
                    async with self._terminal.turn() as screen:
                        shown = True
                        return await ask_for(screen, request)
                except Left:
                    text = "Left: the approval in {}. Press Enter to come back to it, while there is time."
                    await come_back(self._terminal, text, request.room)
        except asyncio.CancelledError:
            if shown:
                self._terminal.too_late("too late: the approval in {} is not asked for any more", request.room)
            raise


class FolderApprover:
    """Leaves each request as ``ID.json`` in *folder*, for `swarm approve`; the answer comes as ``ID.answer.json``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Return the answer, even one that was given before this process began."""
        path = self._folder / f"{request.id}.json"
        self._write(path, request)
        try:
            while (answer := answer_to(path)) is None:
                await asyncio.sleep(LOOK_EVERY_S)
            return answer
        except asyncio.CancelledError:
            # Nobody waits for it any more. After a kill the file stays, and the peer comes back to it.
            with contextlib.suppress(OSError):
                path.unlink()
            raise

    def keep(self, request: ApprovalRequest, answer: Approval) -> None:
        """Record an answer that was given elsewhere, so that nobody is asked here any more."""
        with contextlib.suppress(BadInput, OSError):
            path = self._folder / f"{request.id}.json"
            self._write(path, request)
            give_answer(path, answer)

    def _write(self, path: Path, request: ApprovalRequest) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"nothing can be kept here: {error.strerror}", source=str(self._folder)) from None
        text = json.dumps(request.plain(), ensure_ascii=False, indent=2, sort_keys=True)
        replace_text(path, text + "\n", "request for approval")


class EitherApprover:
    """Asks at a terminal and in a folder; the first answer counts."""

    def __init__(self, at_terminal: TerminalApprover, in_folder: FolderApprover) -> None:
        self._at_terminal = at_terminal
        self._in_folder = in_folder

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Return the answer that comes first."""
        here = asyncio.ensure_future(self._at_terminal.approve(request))
        there = asyncio.ensure_future(self._in_folder.approve(request))
        try:
            await asyncio.wait({here, there}, return_when=asyncio.FIRST_COMPLETED)
            answer = (there if there.done() else here).result()
        finally:
            for task in (here, there):
                task.cancel()
            await asyncio.gather(here, there, return_exceptions=True)
        if not there.done() or there.cancelled():
            self._in_folder.keep(request, answer)
        return answer


def answer_to(path: Path) -> Approval | None:
    """Return the answer beside the request at *path*; None if there is none that can be read."""
    try:
        return Approval.model_validate_json(_answer_path(path).read_bytes())
    except (OSError, ValidationError):
        return None


def give_answer(path: Path, answer: Approval) -> None:
    """Write *answer* beside the request at *path*, whole or not at all; raise `BadInput` if there is one already."""
    target = _answer_path(path)
    new = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        new.write_text(json.dumps(answer.plain(), ensure_ascii=False) + "\n", encoding="utf-8")
        try:
            os.link(new, target)
        finally:
            new.unlink()
    except FileExistsError:
        raise BadInput(f"{path.stem} is answered already") from None
    except OSError as error:
        raise BadInput(f"the answer cannot be written: {error.strerror}", source=str(path.parent)) from None


def _answer_path(path: Path) -> Path:
    return path.with_name(path.stem + ANSWER)


def requests_in(directory: Path) -> list[tuple[Path, ApprovalRequest]]:
    """Return the requests that peers have left in *directory*, answered or not, the most urgent first."""
    found = []
    for pattern in ("*.json", "approvals/*.json", "*/approvals/*.json"):
        for path in sorted(directory.glob(pattern)):
            if path.name.endswith(ANSWER):
                continue
            with contextlib.suppress(OSError, ValidationError):
                request = ApprovalRequest.model_validate_json(path.read_bytes())
                # A changed request is not what would be signed.
                if path.stem == request.id == request.whole:
                    found.append((path, request))
    return sorted(found, key=lambda each: (each[1].until or "~", each[1].id))


def people_for(members: Sequence[Any], directory: Path | None) -> dict[str, Any]:
    """Return where people are asked for these *members*: part ``person`` of their configuration, empty if nobody is.

    Raises `BadInput` if a member needs a person and there is no way to reach one.
    """
    from swarm.people.terminal import own_terminal

    humans = [m for m in members if m.agent == "human"]
    bound = [m for m in members if m.mandate is not None and m.mandate.approve]
    if not humans and not bound:
        return {}
    terminal = own_terminal()
    if terminal is None and humans:
        raise BadInput(
            f"agent human of {humans[0].name}: needs a terminal to ask at, and this process has none in front"
        )
    if terminal is None and directory is None:
        raise BadInput(
            f"mandate.approve of {bound[0].name}: needs a terminal to ask at, or --dir DIR for `swarm approve DIR`"
        )
    folder = None if directory is None else str(directory.resolve() / "approvals")
    return {"person": {"terminal": terminal, "approvals": folder}}


def terminal_at(person: Mapping[str, Any] | None) -> Terminal | None:
    """Return the terminal that the part ``person`` of a configuration (see `people_for`) names."""
    path = None if person is None else person.get("terminal")
    if path is None:
        return None
    from swarm.people.terminal import TtyTerminal

    return TtyTerminal(path)


def approver_at(person: Mapping[str, Any] | None) -> Approver | None:
    """Return the approver that the part ``person`` of a configuration names."""
    terminal, folder = terminal_at(person), None if person is None else person.get("approvals")
    at_terminal = None if terminal is None else TerminalApprover(terminal)
    in_folder = None if folder is None else FolderApprover(Path(folder))
    if at_terminal is not None and in_folder is not None:
        return EitherApprover(at_terminal, in_folder)
    return at_terminal or in_folder
