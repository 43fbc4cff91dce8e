"""A cluster of three nats-servers on this machine: each can be killed, stopped, let go on and started again."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from swarm.broker.config import server_config
from swarm.broker.server import server_binary
from swarm.errors import SwarmError
from swarm.log.connection import Connection
from swarm.log.streams import ensure_streams
from swarm.signed.identity import Identity

NAMES = ("one", "two", "three")
FORMED_S = 90.0
"""A cluster forms in a few seconds; this is for a machine that is busy with other things."""
# Without the pings the others take a stopped server for a living one for minutes: a third of all reads goes to it.
CONF = """\
server_name: {name}
listen: "127.0.0.1:{port}"
ping_interval: "2s"
ping_max: 2
cluster {{ name: swarm, listen: "127.0.0.1:{route}", routes: [{routes}] }}
"""


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago: a server that starts again must be where its clients look for it."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Cluster:
    """Three servers in *folder*; nothing of them is left after `close`.

    With *members* they have the accounts of `swarm broker --secure`, which let those keys in.
    """

    def __init__(self, folder: Path, members: list[str] | None = None) -> None:
        self.folder = folder
        self.setup = None if members is None else Identity.new()
        """The user that makes the streams, where there are accounts."""
        ports = free_ports(2 * len(NAMES))
        self._ports = dict(zip(NAMES, ports[: len(NAMES)], strict=True))
        self._routes = dict(zip(NAMES, ports[len(NAMES) :], strict=True))
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        for name in NAMES:
            routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in self._routes.values())
            text = CONF.format(name=name, port=self._ports[name], route=self._routes[name], routes=routes)
            text += server_config(members, store=folder / name, setup_key=self.setup and self.setup.public)
            (folder / f"{name}.conf").write_text(text, encoding="utf-8")

    def url(self, name: str) -> str:
        return f"nats://127.0.0.1:{self._ports[name]}"

    @property
    def urls(self) -> str:
        """All three, as `--server` takes them."""
        return ",".join(self.url(name) for name in NAMES)

    def start(self, *names: str) -> None:
        for name in names or NAMES:
            arguments = ["-c", str(self.folder / f"{name}.conf"), "-l", str(self.folder / f"{name}.log")]
            self._running[name] = subprocess.Popen([str(server_binary()), *arguments], stdin=subprocess.DEVNULL)

    def kill(self, *names: str) -> None:
        """End them as a power cut of their process would."""
        for name in names:
            process = self._running.pop(name)
            process.kill()
            process.wait(20)

    def stop(self, name: str) -> None:
        """Let the server be there and do nothing."""
        os.kill(self._running[name].pid, signal.SIGSTOP)

    def go_on(self, name: str) -> None:
        os.kill(self._running[name].pid, signal.SIGCONT)

    def close(self) -> None:
        self.kill(*self._running)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def formed(self) -> None:
        """Wait for the three to agree on a leader, and make the streams, each with three replicas."""
        async with asyncio.timeout(FORMED_S):
            while True:
                try:
                    await ensure_streams(self.urls, identity=self.setup, replicas=3, timeout_s=FORMED_S)
                    followers = (await self.info())["cluster"].get("replicas", [])
                    if len(followers) == 2 and all(each["current"] for each in followers):
                        return
                except SwarmError:
                    pass
                await asyncio.sleep(0.2)

    async def info(self, stream: str = "SWARM") -> dict[str, Any]:
        """Return what the cluster says of *stream*."""
        connection = await Connection.open(self.urls, identity=self.setup, timeout_s=30)
        try:
            deadline = asyncio.get_running_loop().time() + 30
            (reply,) = await connection.call(f"$JS.API.STREAM.INFO.{stream}", b"", deadline=deadline, quiet_s=1)
            answer: dict[str, Any] = json.loads(reply.data)
            return answer
        finally:
            await connection.close()

    async def leader(self) -> str:
        """Return the name of the server that leads the stream of the rooms."""
        async with asyncio.timeout(FORMED_S):
            while True:
                try:
                    found = (await self.info()).get("cluster", {}).get("leader")
                    if found:
                        return str(found)
                except SwarmError:
                    pass
                await asyncio.sleep(0.2)


@contextmanager
def three_servers(members: list[str] | None = None) -> Iterator[Cluster]:
    """Run a cluster, without streams yet; however the test ends, the servers end with it."""
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="swarm-cluster-")), members)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
