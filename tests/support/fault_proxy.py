"""A TCP proxy in front of a server, which does to its connections what networks do."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable
from typing import Any


class Proxy:
    """Listens on 127.0.0.1 for the server at whatever port *target* gives; runs in a thread of its own until `close`.

    ``swallow`` is set to lose what is sent, in both directions and without a sign; ``late_s`` delays each piece by up
    to so many seconds; ``refuse`` turns away whoever connects.
    """

    def __init__(self, target: Callable[[], int], seed: int = 0) -> None:
        self.port = 0
        self.late_s = 0.0
        self.refuse = False
        self._swallow = False
        self._target = target
        self._random = random.Random(seed)
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._ended: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def swallow(self, lost: bool) -> None:
        """Begin to lose everything; at the end of that the connections, which miss a piece each, are cut."""
        self._swallow = lost
        if not lost:
            self.cut()

    def cut(self) -> None:
        """Reset all connections."""
        self._each(lambda client, server: (client.transport.abort(), server.transport.abort()))

    def half_close(self, *, towards: str) -> None:
        """Let one side (``client`` or ``server``) read the end, and go on passing what that side still sends."""
        self._each(lambda client, server: self._end(client if towards == "client" else server))

    def _end(self, writer: asyncio.StreamWriter) -> None:
        if writer not in self._ended:
            self._ended.add(writer)
            writer.write_eof()

    def _each(self, do: Callable[[asyncio.StreamWriter, asyncio.StreamWriter], Any]) -> None:
        def all_of_them() -> None:
            for pair in list(self._pairs):
                with contextlib.suppress(OSError, RuntimeError):
                    do(*pair)

        self._loop.call_soon_threadsafe(all_of_them)

    def close(self) -> None:
        """Cut all connections and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)
        self._loop.close()

    async def _serve(self) -> None:
        listening = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        listening.close()
        for pair in list(self._pairs):
            for writer in pair:
                writer.transport.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuse:
            writer.transport.abort()
            return
        try:
            up, server = await asyncio.open_connection("127.0.0.1", self._target())
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, server)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._pass(reader, server), self._pass(up, writer))
        except (OSError, RuntimeError):
            pass
        finally:
            self._pairs.discard(pair)
            for each in pair:
                each.transport.abort()
                self._ended.discard(each)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            if self.late_s:
                await asyncio.sleep(self._random.random() * self.late_s)
            if not self._swallow and writer not in self._ended:
                writer.write(piece)
                await writer.drain()
        with contextlib.suppress(OSError, RuntimeError):
            self._end(writer)
