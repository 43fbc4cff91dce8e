"""Logs to hold to the contract: in memory, and on real brokers with and without accounts."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from swarm.broker.server import Broker
from swarm.log import Log
from swarm.log.jetstream import JetStreamLog
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.signed.identity import Identity

AUTHOR_CAP = 700
IDENTITIES = [Identity.new() for _ in range(5)]
_rooms = itertools.count(1)


@dataclass
class World:
    """One log and its authors; ``seat`` gives a client that may write as the author of that number."""

    kind: str
    connect: Callable[[int], Awaitable[Log]]
    url: str = ""
    authors: list[str] = field(default_factory=lambda: [identity.public for identity in IDENTITIES])
    author_cap: int = AUTHOR_CAP
    separates_keys: bool = True

    @asynccontextmanager
    async def seats(self, count: int) -> AsyncIterator[list[Log]]:
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(await self.connect(number)) for number in range(count)]

    def room(self) -> str:
        return f"room-{next(_rooms)}"


def _broker(secure: bool) -> Iterator[Broker]:
    broker = Broker(members=[identity.public for identity in IDENTITIES[:4]] if secure else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swarm.log.streams.AUTHOR_RECORDS", AUTHOR_CAP)
        asyncio.run(broker.__aenter__())
    try:
        yield broker
    finally:
        asyncio.run(broker.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def open_broker() -> Iterator[Broker]:
    yield from _broker(secure=False)


@pytest.fixture(scope="session")
def secure_broker() -> Iterator[Broker]:
    """A broker with accounts, of which all but the last of IDENTITIES are members."""
    yield from _broker(secure=True)


@pytest.fixture(params=["memory", "open", "secure"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "memory":
        store = MemoryStore(author_records=AUTHOR_CAP)

        async def seat(number: int) -> Log:
            return MemoryLog(store, key=IDENTITIES[number].public)

        return World("memory", seat)
    broker: Broker = request.getfixturevalue(f"{request.param}_broker")

    async def connect(number: int) -> Log:
        return await JetStreamLog.connect(broker.url, identity=IDENTITIES[number])

    return World(request.param, connect, url=broker.url, separates_keys=request.param == "secure")


@pytest.fixture
def identities() -> list[Identity]:
    return IDENTITIES


@pytest.fixture
def room() -> str:
    return f"room-{next(_rooms)}"
