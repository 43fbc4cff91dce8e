"""A client of the official SDK before a real `swarm mcp`, and a mind that answers what it is told to answer."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from swarm import open_room
from swarm.log.jetstream import JetStreamLog
from swarm.peers.kept import Rooms
from swarm.peers.standing import Over, StandingPeer
from swarm.scenario.members import read_agent
from swarm.visit.saying import reading
from tests.support.patience import until
from tests.support.standing_site import SWARM, Site

Answer = tuple[str, dict[str, Any]]

OPTION = {"title": "Tuesday", "offer": {"day": "tue"}}
FORMS: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "join": lambda asked: ("join", {"model": "tester-1"}),
    "interpret": lambda asked: ("interpret", {"interpretations": {t: {"meaning": f"as {t}"} for t in asked["terms"]}}),
    "read": lambda asked: (
        "read",
        {"verdicts": ["yes"] * len(asked["cases"]), "judgements": ["same"] * len(asked["meanings"])},
    ),
    "settle": lambda asked: ("settle", {"terms": {term: {"keep": True} for term in asked["terms"]}}),
    "quote": lambda asked: ("quote", {"values": {name: issue["values"] for name, issue in asked["issues"].items()}}),
    "propose": lambda asked: ("propose", {"option": OPTION, "reserve": 10}),
    "score": lambda asked: ("score", {"scores": {option["id"]: 60 for option in asked["options"]}}),
    "improve": lambda asked: ("pass", {}),
    "ratify": lambda asked: ("ratify", {"accept": True}),
}
"""For each act, the tool that answers it, and with what."""


class Desk:
    """One session of a client with its server."""

    def __init__(self, client: Client, pid: Path) -> None:
        self.client = client
        self._pid = pid
        self.results: list[str] = []
        """All that the server has ever sent in this session."""

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool returns; fails if that is an error."""
        result = await self.raw(tool, **arguments)
        assert not result.is_error, result.structured_content
        found: dict[str, Any] = result.structured_content
        return found

    async def wrong(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool returns as an error; fails if it is none."""
        result = await self.raw(tool, **arguments)
        assert result.is_error, result.structured_content
        found: dict[str, Any] = result.structured_content
        return found

    async def raw(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        self.results.append(result.model_dump_json())
        return result

    async def next(self) -> dict[str, Any]:
        """Return the next duty that is up, with its room."""
        while True:
            duties = (await self.call("wait", seconds=20))["duties"]
            if duties:
                found: dict[str, Any] = duties[0]
                return found

    async def give(self, duty: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Answer *duty* as `FORMS` has it."""
        tool, answer = FORMS[duty["act"]](duty["content"])
        place = {"room": duty["room"]} if duty["act"] == "join" else {"room": duty["room"], "step": duty["step"]}
        return await self.call(tool, **place, **answer, **more)

    async def until(self, act: str) -> dict[str, Any]:
        """Answer duty by duty until *act* is asked; return that duty, unanswered."""
        while (duty := await self.next())["act"] != act:
            assert (await self.give(duty))["outcome"] == "said"
        return duty

    async def settled(self, room: str) -> dict[str, Any]:
        """Answer duty by duty until *room* has its outcome and nothing of it is open; return its state."""
        while True:
            status = await self.call("status", room=room)
            if status["outcome"] is not None and status["step"] is None:
                return status
            for duty in (await self.call("wait", seconds=1))["duties"]:
                assert (await self.give(duty))["outcome"] == "said"

    def kill(self) -> None:
        """Kill the server, without a word."""
        os.kill(int(self._pid.read_text()), signal.SIGKILL)

    async def gone(self) -> None:
        """Wait until the server's process has ended."""
        pid = int(self._pid.read_text())
        await asyncio.to_thread(until, lambda: not _runs(pid), "the server has ended")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@asynccontextmanager
async def desk(site: Site, name: str, *options: str, mode: str = "auto") -> AsyncIterator[Desk]:
    """Give a session with a `swarm mcp` of *name*, started for it."""
    site.key(name)
    folder = site.folder / name
    folder.mkdir(exist_ok=True)
    pid = folder / "mcp.pid"
    # The shell is replaced by the command: its number is the server's.
    line = ["-c", f'echo $$ > "{pid}"; exec "$@"', "sh", SWARM, "mcp"]
    key = ["--key", str(folder.parent / f"{name}.key"), "--server", site.url]
    with (folder / "err").open("a") as errors:
        server = StdioServerParameters(command="/bin/sh", args=[*line, *key, *options])
        async with Client(stdio_client(server, errors), mode=mode) as client:
            made = Desk(client, pid)
            yield made
        # In no session does a client learn anything of the key.
        secret = (site.folder / f"{name}.key").read_text().strip()
        assert made.results
        assert not [text for text in made.results if secret in text or str(site.folder) in text]


@asynccontextmanager
async def standing(site: Site, name: str, agent: dict[str, Any]) -> AsyncIterator[dict[str, str]]:
    """Let *name* stand in this process, with this agent file; give the outcome of each room that is over."""
    site.key(name)
    over: dict[str, str] = {}

    def tell(room: Over) -> None:
        over[room.room] = f"{room.outcome}: {room.reason}"

    identity = site.identities[name]
    async with await JetStreamLog.connect(site.url, identity=identity, name=name) as log:
        peer = StandingPeer(read_agent(agent), identity, log, rooms=Rooms(), tell=tell)
        task = asyncio.create_task(peer.run())
        try:
            yield over
        finally:
            peer.stop()
            await task


async def opened(site: Site, opener: str, what: dict[str, Any]) -> str:
    """Open the room and return its name."""
    address = await asyncio.to_thread(open_room, what, site.identities[opener], site.url)
    return address.room


async def said(site: Site, room: str, opener: str, by: str) -> list[dict[str, Any]]:
    """Return the bodies of all that *by* has said in *room*."""
    identity = site.identities[by]
    async with reading(room, site.url, identity, opener=site.key(opener)) as replica:
        return [r.entry.body for r in replica.fold.records if r.entry is not None and r.author == identity.public]


def go(work: Awaitable[Any], seconds: float = 60) -> Any:
    """Run *work* with a deadline that only a hang reaches."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, seconds)

    return asyncio.run(bounded())
