"""A server that answers for ever: a reader takes what it asked for, and its memory stays its own."""

import asyncio
import contextlib
import json
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from swarm.errors import SwarmError
from swarm.log.jetstream import JetStreamLog
from swarm.log.port import Cut
from swarm.log.reader import CUT_BYTES, MOST_INVITATIONS
from swarm.signed.identity import Identity

ANN = Identity(b"a" * 32).public
ROOM = f"swarm.room.r.{ANN}"
INVITE = f"swarm.invite.{ANN}.{ANN}"
FAR = 2**40
LARGE = b"x" * 200_000
MOST_BYTES = 100 * 2**20
"""What a reader of such a server may take at most: far above what it asks for, far below what it is sent."""

Answer = Callable[[dict[str, Any], bytes], Iterator[bytes]]
"""Gives what the server says to a request on a reply subject, piece by piece."""


def said(reply: bytes, headers: bytes, payload: bytes = b"") -> bytes:
    return b"HMSG %b 1 %d %d\r\n%b%b\r\n" % (reply, len(headers), len(headers) + len(payload), headers, payload)


def record(reply: bytes, subject: str, sequence: int, previous: int, payload: bytes) -> bytes:
    lines = [f"Nats-Stream: SWARM\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}"]
    lines += [f"Nats-Time-Stamp: 2026-12-01T12:00:00Z\r\nNats-Num-Pending: 9\r\nNats-Last-Sequence: {previous}"]
    return said(reply, b"NATS/1.0\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n", payload)


def end(reply: bytes, last: int, pending: int) -> bytes:
    lines = f"Nats-Num-Pending: {pending}\r\nNats-Last-Sequence: {last}\r\nNats-UpTo-Sequence: {FAR}"
    return said(reply, b"NATS/1.0 204 EOB\r\n" + lines.encode() + b"\r\n\r\n")


def one_batch_without_end(ask: dict[str, Any], reply: bytes, payload: bytes = LARGE) -> Iterator[bytes]:
    sequence = ask.get("seq", 1)
    previous = 0
    while True:
        yield record(reply, ROOM, sequence, previous, payload)
        sequence, previous = sequence + 1, sequence


def one_batch_of_nothing_without_end(ask: dict[str, Any], reply: bytes) -> Iterator[bytes]:
    return one_batch_without_end(ask, reply, b"")


def batches_without_end(ask: dict[str, Any], reply: bytes) -> Iterator[bytes]:
    """Each as large as was asked for, in order, and always more to come."""
    if "multi_last" in ask:
        yield record(reply, ROOM, FAR, 0, b"the last") + end(reply, FAR, 0)
        return
    subject = INVITE if "invite" in ask["next_by_subj"] else ROOM
    payload = LARGE[:8000] if subject is INVITE else LARGE
    first, previous, left = ask["seq"], 0, ask["max_bytes"]
    for sequence in range(first, first + ask["batch"]):
        yield record(reply, subject, sequence, previous, payload)
        previous = sequence
        left -= len(payload)
        if left <= 0:
            break
    yield end(reply, previous, 10**6)


def the_same_again(ask: dict[str, Any], reply: bytes) -> Iterator[bytes]:
    """What was asked for once, whatever is asked for."""
    if "multi_last" in ask:
        yield record(reply, ROOM, FAR, 0, b"the last") + end(reply, FAR, 0)
        return
    subject = INVITE if "invite" in ask["next_by_subj"] else ROOM
    yield record(reply, subject, 1, 0, LARGE[:8000]) + end(reply, 1, 10**6)


def one_message_without_end(ask: dict[str, Any], reply: bytes) -> Iterator[bytes]:
    yield b"HMSG %b 1 12 %d\r\nNATS/1.0\r\n\r\n" % (reply, 10**10)
    while True:
        yield LARGE


def one_line_without_end(ask: dict[str, Any], reply: bytes) -> Iterator[bytes]:
    yield b"HMSG "
    while True:
        yield LARGE


ANSWERS: list[Answer] = [
    one_batch_without_end,
    one_batch_of_nothing_without_end,
    batches_without_end,
    the_same_again,
    one_message_without_end,
    one_line_without_end,
]


class EndlessServer:
    """Lets everybody in and answers every request with *answer*, for as long as somebody reads it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        writers: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for writer in writers:
                writer.transport.abort()
            await server.wait_closed()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        info = {"server_id": "X", "version": "2.11.0", "headers": True, "max_payload": 2**20, "proto": 1}
        writer.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
        while line := await reader.readline():
            verb, *rest = line.split()
            if verb == b"PING":
                writer.write(b"PONG\r\n")
            elif verb == b"PUB":
                ask = json.loads(await reader.readexactly(int(rest[-1]) + 2))
                for piece in self.answer(ask, rest[1]):
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__)
def test_a_reader_takes_no_more_than_it_asked_for(answer: Answer, run: Any) -> None:
    """However much a server says, every read ends with what was asked for or an error, in little memory."""

    async def work() -> None:
        for ask in ("read", "last", "first", "earliest", "rooms", "invitations"):
            async with EndlessServer(answer).serving() as url, await JetStreamLog.connect(url) as log:
                arguments: dict[str, tuple[Any, ...]] = {
                    "read": ("r", [ANN], {}),
                    "last": ("r", ANN),
                    "first": ("r", ANN),
                    "earliest": ("r",),
                    "rooms": (ANN,),
                    "invitations": (ANN,),
                }
                try:
                    found = await getattr(log, ask)(*arguments[ask], timeout_s=1.0)
                except SwarmError:
                    continue
                if isinstance(found, Cut):
                    assert found.more and sum(len(each.payload) for each in found.records) < 2 * CUT_BYTES
                elif ask == "invitations":
                    assert len(found) <= MOST_INVITATIONS

    tracemalloc.start()
    try:
        run(work())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < MOST_BYTES


def test_a_log_larger_than_a_cut_is_read_whole_in_several(run: Any) -> None:
    """An honest log of any size is still read to its end: a cut that is not all says so, and the next goes on."""
    total, size = 120, len(LARGE)

    def honest(ask: dict[str, Any], reply: bytes) -> Iterator[bytes]:
        if "multi_last" in ask:
            yield record(reply, ROOM, total, 0, LARGE) + end(reply, total, 0)
            return
        previous, left = 0, ask["max_bytes"]
        for sequence in range(ask["seq"], total + 1):
            if left <= 0:
                break
            yield record(reply, ROOM, sequence, previous, LARGE)
            previous, left = sequence, left - size
        yield end(reply, previous, total - previous)

    async def work() -> None:
        async with EndlessServer(honest).serving() as url, await JetStreamLog.connect(url) as log:
            found: list[int] = []
            cuts = 0
            while True:
                cut = await log.read("r", [ANN], {ANN: found[-1] if found else 0})
                found += [each.sequence for each in cut.records]
                cuts += 1
                assert cut.upper == (found[-1] if cut.more else FAR)
                if not cut.more:
                    break
            assert found == list(range(1, total + 1)) and cuts > 1

    run(work())
