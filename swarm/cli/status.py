"""`swarm status`, `swarm watch` and `swarm rooms`: how rooms stand, from their logs alone.

They say nothing in the rooms.
"""

import asyncio
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from swarm.cli.output import console, offer_lines, print_json
from swarm.cli.server import TlsCa
from swarm.errors import BadInput
from swarm.log.servers import check_server
from swarm.signed.identity import Identity
from swarm.text import named, table, visible

Room = Annotated[str, typer.Argument(help="The room's full name.", show_default=False)]
Server = Annotated[str, typer.Option(help="The NATS server that holds it.")]
Key = Annotated[Path | None, typer.Option(help="The key that logs in, where the server wants one.")]
Hook = Annotated[str | None, typer.Option(metavar="COMMAND")]


def status_command(
    room: Room,
    server: Server,
    key: Key = None,
    tls_ca: TlsCa = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Say how a room stands: its step, who owes what since when, signs of life, clocks, promises, findings.

    For each answer awaited: "said" (asked, and nothing shows that the member has read it), "delivered" (it has read it)
    or, once it is there, acted on. A member without a sign of life for long is shown as stale.

    Example: swarm status acme-renewal-abc… --server nats://127.0.0.1:4222 --key ada.key

    Exit codes: 0 told, 2 bad input, 3 the server or the room cannot be reached.
    """
    from swarm.visit.watching import status

    check_server(server)
    stands = asyncio.run(status(room, server, _login(key), tls_ca=tls_ca))
    if as_json:
        print_json(stands)
    else:
        _show(stands, console())
    return 0


def watch_command(
    room: Room,
    server: Server,
    key: Key = None,
    tls_ca: TlsCa = None,
    on_waiting: Hook = None,
    on_violated: Hook = None,
    on_ended: Hook = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line for each change.")] = False,
) -> int:
    """Follow a room live until it is over: one line for each change, and the hooks that you name.

    A hook is a command that gets one JSON object on its standard input: for each answer that is waited for, each
    promise that breaks or hangs, and the end. It is split like a shell's words, and no shell runs it.

    Example: swarm watch acme-renewal-abc… --server nats://127.0.0.1:4222 --on-waiting ./remind.sh

    Exit codes: 0 the room is over, 2 bad input, 3 the server or the room cannot be reached.
    """
    from swarm.scenario.hooks import On

    check_server(server)
    on = On(waiting=_words(on_waiting), violated=_words(on_violated), ended=_words(on_ended))
    asyncio.run(_watch(room, server, _login(key), tls_ca, on, as_json))
    return 0


def rooms_command(
    server: Server,
    key: Annotated[Path, typer.Option(help="The key whose rooms are listed; it also logs in.")],
    tls_ca: TlsCa = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """List the rooms that a key has spoken in or is invited to, and what it owes there.

    Example: swarm rooms --server nats://127.0.0.1:4222 --key ada.key

    Exit codes: 0 told, 2 bad input, 3 the server cannot be reached.
    """
    from swarm.visit.watching import rooms

    check_server(server)
    found = asyncio.run(rooms(Identity.load(key), server, tls_ca=tls_ca))
    if as_json:
        print_json({"rooms": found})
        return 0
    out = console()
    for each in found:
        if each["problem"] is not None:
            out.print(f"{visible(each['room'])}  {visible(each['problem'])}", style="yellow")
            continue
        stands = f"over, {each['outcome']}" if each["over"] else each["step"] or f"{each['outcome']}, promises open"
        out.print(f"{visible(each['room'])}  as {visible(each['as'] or 'nobody')}  {stands}")
        for owed in each["owed"]:
            out.print(f"    owed: {visible(owed)}", style="bold")
        for offer in each["offers"]:
            for line in offer_lines(offer):
                out.print(f"      {line}")
    if not found:
        out.print("no room with this key, and no invitation to one")
    return 0


def doctor_command(
    server: Server,
    key: Annotated[Path | None, typer.Option(help="The key file of the peer that is to work here.")] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="The folder where the peer keeps what it signs.")
    ] = None,
    tls_ca: TlsCa = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Look whether a peer can work from here, and say what to do where it cannot.

    Key file, server and version, login, TLS, JetStream and its streams, storage, permissions, reading, clocks. Nothing
    on the server is changed.

    Example: swarm doctor --server nats://127.0.0.1:4222 --key ada.key --dir ./ada

    Exit codes: 0 no problem found, 1 there are problems, 2 bad input.
    """
    from swarm.visit.doctor import examine

    check_server(server)
    checks = asyncio.run(examine(server, key, directory, tls_ca=tls_ca))
    healthy = all(check.level != "problem" for check in checks)
    if as_json:
        print_json({"healthy": healthy, "checks": [check.plain() for check in checks]})
        return 0 if healthy else 1
    out, marks = console(), {"ok": "✓", "warning": "!", "problem": "✕", "unknown": "?"}
    styles = {"ok": None, "warning": "yellow", "problem": "bold red", "unknown": "dim"}
    for check in checks:
        out.print(f"{marks[check.level]} {check.name}: {visible(check.text)}", style=styles[check.level])
        if check.advice:
            out.print(f"    {visible(check.advice)}")
    return 0 if healthy else 1


async def _watch(
    room: str, server: str, identity: Identity | None, tls_ca: Path | None, on: Any, as_json: bool
) -> None:
    from swarm.peers.hooks import Hooks
    from swarm.visit.watching import watch

    hooks, out, shown = Hooks(on), console(), ""
    try:
        async for stands in watch(room, server, identity, tls_ca=tls_ca):
            hooks.tell_of(stands)
            if as_json:
                print_json(stands)
                continue
            line = _line(stands)
            if line != shown:
                shown = line
                out.print(line)
    finally:
        await hooks.close()


def _line(stands: dict[str, Any]) -> str:
    """Return how a room stands, in one line."""
    if stands["over"]:
        reason = f": {visible(stands['reason'])}" if stands["reason"] else ""
        return f"{stands['records']:>5}  over, {stands['outcome']}{reason}"
    step = "promises" if stands["step"] is None else stands["step"]["id"]
    waiting = ", ".join(
        f"{visible(w['member'])} ({w['state']}{', stale' if w['stale'] else ''})" for w in stands["waiting"]
    )
    states: dict[str, int] = {}
    for promise in stands["promises"].values():
        states[promise["state"]] = states.get(promise["state"], 0) + 1
    promises = ", ".join(f"{count} {state}" for state, count in states.items())
    return (
        f"{stands['records']:>5}  {step}"
        + (f"  waits for {waiting}" if waiting else "")
        + (f"  [{promises}]" if promises else "")
    )


def _show(stands: dict[str, Any], out: Console) -> None:
    out.print(f"ROOM      {stands['room']}  ({stands['records']} records, last at {stands['at']})", style="bold")
    out.print(f"          {visible(stands['intent'])}")
    if stands["outcome"] is not None:
        reason = f": {visible(stands['reason'])}" if stands["reason"] else ""
        out.print(f"OUTCOME   {stands['outcome']}{reason}" + ("" if stands["over"] else "  (not over: see below)"))
    step = stands["step"]
    if step is not None:
        late = ", past its deadline" if step["late"] else ""
        out.print(f"STEP      {step['id']} since {step['since']}, until {step['deadline']}{late}")
    for awaited in stands["waiting"]:
        stale = "  STALE: no sign of life" if awaited["stale"] else ""
        out.print(
            f"WAITING   {visible(awaited['member'])}: {visible(awaited['for'])}, {awaited['state']}, "
            f"for {awaited['seconds']} s{stale}",
            style="yellow" if awaited["stale"] else None,
        )
        for line in offer_lines(awaited["offer"]) if "offer" in awaited else ():
            out.print(f"          {line}")
    rows = [["MEMBERS", "", "last", "silent", "clock", "seen"]]
    for member in stands["members"]:
        clock = "" if member["clock_ms"] is None else f"{member['clock_ms']:+} ms"
        silent = "never seen" if member["last"] is None else f"{member['silent_seconds']} s"
        rows.append(
            ["", named(member["name"], member["key"]), member["last"] or "", silent, clock, str(member["seen"])]
        )
    for line in table(rows):
        out.print(line)
    for name, promise in stands["promises"].items():
        owes = f"{visible(promise['debtor'])} to {visible(promise['creditor'])}"
        out.print(f"PROMISE   {visible(name)}: {promise['state']}, {owes}")
    for finding in stands["findings"]:
        who = f"{visible(finding['who'])}: " if finding["who"] else ""
        out.print(
            f"FINDING   {finding['code']} at {finding['position']}: {who}{visible(finding['text'])}", style="yellow"
        )


def _login(key: Path | None) -> Identity | None:
    return None if key is None else Identity.load(key)


def _words(command: str | None) -> list[str] | None:
    try:
        words = None if command is None else shlex.split(command)
    except ValueError as error:
        raise BadInput(f"the hook {command!r} cannot be split into words: {error}") from None
    if words == []:
        raise BadInput("a hook is a command, and this one is empty")
    return words
