"""The protocol: tools and resources over a desk, on this process's stdin and stdout, in front of a peer.

When the client closes stdin, the server ends, as it does on a signal: the peer then stops in order, and what it has
sent is read back first. Only the protocol is ever written to stdout.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, cast

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from agents.agent import NoAnswer
from protocols.messages.commitments import ConfirmReport, DisputeReport, ReportEvent
from protocols.room.joining import JOINING
from swarm.errors import BadInput, SwarmError
from swarm.log.port import Log
from swarm.mcp.desk import LONGEST_ECHO, Desk, Trouble
from swarm.mcp.forms import (
    FORMS,
    ActArguments,
    Arguments,
    DeclineArguments,
    DutiesArguments,
    ExcuseArguments,
    ExplainArguments,
    InRoom,
    JoinArguments,
    LeaveArguments,
    OnReport,
    ReportArguments,
    WaitArguments,
    WrongArguments,
    input_schema,
    read_arguments,
)
from swarm.mcp.views import NOTICE, explanations, record_text, shown, state_text, status_view
from swarm.peers.discovery import package_version
from swarm.peers.kept import Rooms
from swarm.peers.standing import StandingPeer
from swarm.scenario.members import AgentFile
from swarm.seat.approval import Approver
from swarm.signed.identity import Identity
from swarm.tasks import together, unless
from swarm.text import shortened, visible

_log = logging.getLogger(__name__)

READ_BYTES = 65_536
LINES_AHEAD = 64
"""Lines of the client that are read and not yet handled, at most."""
RECORD, STATE = "record", "state"
_URI = "swarm://rooms/"
_NOT_FOUND = -32602
INSTRUCTIONS = (
    "You are a member of rooms in which independent agents settle a question. Call wait until a duty or a question "
    "comes, answer it with the tool that it names before its seconds are up, and wait again. Your peer signs what you "
    "answer; it cannot be taken back. " + NOTICE
)


async def serve(
    file: AgentFile,
    identity: Identity,
    connect: Callable[[], Coroutine[Any, Any, Log]],
    rooms: Rooms,
    *,
    accept: list[str],
    stop: asyncio.Event,
    approver: Approver | None = None,
) -> None:
    """Serve one client on stdin and stdout until it leaves or *stop* is set; raise a `SwarmError` if the log is lost.

    *file* says whose rooms are joined and what is never signed, *connect* reaches the log, *rooms* keeps what is said,
    and *approver* is asked for the approvals that the mandate requires.
    """
    desk = Desk(identity.public, file.member.mandate, approver)
    failures: list[Exception] = []

    async def then_stop(work: Callable[[], Awaitable[None]]) -> None:
        # Both end in order: signed entries are read back, and answers reach the client.
        try:
            await work()
        except Exception as error:
            failures.append(error)
        finally:
            stop.set()

    try:
        async with together() as group:
            group.start_soon(then_stop, lambda: _stand(desk, file, identity, connect, rooms, accept, stop))
            group.start_soon(then_stop, lambda: speak(server_of(desk), stop))
    finally:
        await desk.close()
    for failure in failures:
        raise failure


async def _stand(
    desk: Desk,
    file: AgentFile,
    identity: Identity,
    connect: Callable[[], Coroutine[Any, Any, Log]],
    rooms: Rooms,
    accept: list[str],
    stop: asyncio.Event,
) -> None:
    connected = await unless(stop, connect)
    if connected is None:
        return
    async with connected as log:
        peer = StandingPeer(
            file, identity, log, rooms=rooms, accept=accept, stop=stop, seen=desk.seen, keep=True, minds=desk.mind
        )
        desk.peer, desk.connected = peer, True
        _log.info("%s stands for an MCP client", identity.public)
        await peer.run()


# -- stdin and stdout -------------------------------------------------------------------------------------------------


class _Lines:
    """The lines of stdin, read by a thread of its own, so that nothing has to wait for the client to end them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(LINES_AHEAD)
        self._ended = asyncio.Event()
        threading.Thread(target=self._read, args=(os.dup(0),), daemon=True).start()

    def end(self) -> None:
        """Behave as at the end of input, whatever still comes."""
        self._ended.set()

    def _read(self, fd: int) -> None:
        rest = b""
        # The loop may have ended; then nobody waits for what is read here.
        with suppress(RuntimeError, OSError):
            while data := os.read(fd, READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._put(line.decode("utf-8", "replace"))
            self._put(None)

    def _put(self, line: str | None) -> None:
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> str:
        line = asyncio.ensure_future(self._lines.get())
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({line, ended}, return_when=asyncio.FIRST_COMPLETED)
            if self._ended.is_set() or (read := line.result()) is None:
                raise StopAsyncIteration
            return read
        finally:
            line.cancel()
            ended.cancel()


async def speak(server: Server[Any], stop: asyncio.Event) -> None:
    """Speak the protocol on stdin and stdout until the client leaves or *stop* is set."""
    lines = _Lines()

    async def stop_reading() -> None:
        await stop.wait()
        lines.end()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(stop_reading)
            async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* ConnectionError:
        _log.info("the client is gone")


# -- tools and resources ----------------------------------------------------------------------------------------------


def server_of(desk: Desk) -> Server[Any]:
    """Return the MCP server of *desk*."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_tools())

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await call(desk, params.name, params.arguments)

    async def list_resources(context: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=f"{_URI}{room}/{what}", name=f"{room}/{what}", mime_type=mime, description=text)
                for room in desk.names
                for what, (mime, text) in _RESOURCES.items()
            ]
        )

    async def list_templates(context: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=f"{_URI}{{room}}/{what}", name=what, mime_type=mime, description=text
                )
                for what, (mime, text) in _RESOURCES.items()
            ]
        )

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return read(desk, str(params.uri))

    return Server(
        "swarm",
        version=package_version(),
        title="Swarm",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


_RESOURCES = {
    RECORD: ("application/jsonl", "The room's record as it stands, a line each: exact bytes, as members signed them."),
    STATE: ("application/json", "The room's state as it stands: what swarm audit recomputes from the record."),
}


def _tools() -> list[types.Tool]:
    return [
        types.Tool(
            name=name,
            description=form.text,
            input_schema=input_schema(name),
            annotations=types.ToolAnnotations(
                read_only_hint=form.reads, destructive_hint=not form.reads, open_world_hint=True
            ),
        )
        for name, form in FORMS.items()
    ]


async def call(desk: Desk, tool: str, given: dict[str, Any] | None) -> types.CallToolResult:
    """Return the result of calling *tool*; an error is a result too, and says what is valid."""
    if tool not in FORMS:
        return _problem(f"there is no tool {shortened(tool, LONGEST_ECHO)!r}; there are {', '.join(FORMS)}")
    try:
        result = await _CALLS.get(tool, _answer)(desk, tool, read_arguments(tool, given))
    except (WrongArguments, Trouble, BadInput) as error:
        return _problem(visible(str(error)))
    except SwarmError as error:
        _log.warning("%s: %s", tool, visible(str(error)))
        return _problem(visible(str(error)))
    except Exception:
        _log.exception("%s failed, by a fault of its own", tool)
        return _problem(f"{tool} failed, by a fault of this server's own; its log says more")
    result = {"notice": NOTICE, **result}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=shown(result))],
        structured_content=result,
        is_error=result.get("taken") is False,
    )


def _problem(text: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content={"error": text}, is_error=True
    )


async def _answer(desk: Desk, tool: str, said: Any) -> dict[str, Any]:
    return await desk.answer(said.room, said.step, tool, said.given(), said.taken())


async def _pass(desk: Desk, tool: str, said: Any) -> dict[str, Any]:
    return await desk.answer(said.room, said.step, tool, None, said.taken())


async def _excuse(desk: Desk, tool: str, said: ExcuseArguments) -> dict[str, Any]:
    return await desk.answer(said.room, said.step, tool, NoAnswer(said.because), said.taken())


async def _join(desk: Desk, tool: str, said: JoinArguments) -> dict[str, Any]:
    mailbox = desk.place(said.room).mailbox
    if mailbox is not None:
        mailbox.join_as(said.model, said.nominates)
    return await desk.answer(said.room, JOINING, tool, None, said.taken())


async def _decline(desk: Desk, tool: str, said: DeclineArguments) -> dict[str, Any]:
    return await desk.answer(said.room, JOINING, tool, NoAnswer(said.because), said.taken())


async def _rooms(desk: Desk, tool: str, said: Arguments) -> dict[str, Any]:
    return {"connected": desk.connected, "rooms": desk.rooms()}


async def _wait(desk: Desk, tool: str, said: WaitArguments) -> dict[str, Any]:
    return {"connected": desk.connected, **await desk.wait(said.seconds)}


async def _duties(desk: Desk, tool: str, said: DutiesArguments) -> dict[str, Any]:
    return {"connected": desk.connected, "duties": desk.duties(said.room, brief=said.briefing)}


async def _leave(desk: Desk, tool: str, said: LeaveArguments) -> dict[str, Any]:
    return await desk.leave(said.room, said.because)


async def _report(desk: Desk, tool: str, said: ReportArguments) -> dict[str, Any]:
    return await desk.act(said.room, ReportEvent(event=said.event, attributes=said.attributes), said.taken())


async def _on_report(desk: Desk, tool: str, said: OnReport) -> dict[str, Any]:
    kind = ConfirmReport if tool == "confirm" else DisputeReport
    return await desk.act(said.room, kind(report=said.report, because=said.because), said.taken())


async def _act(desk: Desk, tool: str, said: ActArguments) -> dict[str, Any]:
    return await desk.act(said.room, said.act, said.taken())


async def _status(desk: Desk, tool: str, said: InRoom) -> dict[str, Any]:
    place = desk.place(said.room)
    return status_view(place.room, place.member)


async def _explain(desk: Desk, tool: str, said: ExplainArguments) -> dict[str, Any]:
    record = None if said.room is None else record_text(desk.place(said.room).replica.fold)
    found = await asyncio.to_thread(explanations, said.name, record, said.room or "")
    return {"explanations": found}


_CALLS: dict[str, Callable[[Desk, str, Any], Awaitable[dict[str, Any]]]] = {
    "rooms": _rooms,
    "wait": _wait,
    "duties": _duties,
    "join": _join,
    "decline": _decline,
    "pass": _pass,
    "excuse": _excuse,
    "leave": _leave,
    "report": _report,
    "confirm": _on_report,
    "dispute": _on_report,
    "act": _act,
    "status": _status,
    "explain": _explain,
}
"""What each tool does; the tools that are absent answer a duty with the answer's own model."""


def read(desk: Desk, uri: str) -> types.ReadResourceResult:
    """Return the resource at *uri*; raise `MCPError` if there is none."""
    room, slash, what = uri.removeprefix(_URI).rpartition("/")
    if not uri.startswith(_URI) or not slash or what not in _RESOURCES or room not in desk.names:
        there = f"{_URI}ROOM/record and {_URI}ROOM/state of your rooms"
        raise MCPError(_NOT_FOUND, f"no resource {shortened(uri, 2 * LONGEST_ECHO)}; there are {there}")
    place = desk.place(room)
    text = record_text(place.replica.fold) if what == RECORD else state_text(place.room, place.member)
    mime = _RESOURCES[what][0]
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=mime)])
