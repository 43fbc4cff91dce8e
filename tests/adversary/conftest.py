"""Real servers for the attacks: one that lets each key do what a member may, one that lets everybody do everything."""

import asyncio
from collections.abc import Iterator

import pytest

from swarm.broker.server import Broker
from swarm.signed.identity import Identity
from tests.support.hand_made import Siege
from tests.support.sieges import AUTHOR_CAP, agent_of

STORE_BYTES = 256 * 1024**2
IDENTITIES = {name: Identity.new() for name in Siege.NAMES}


def _serving(members: list[str] | None) -> Iterator[Broker]:
    broker = Broker(members=members, store_limit_bytes=STORE_BYTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swarm.log.streams.AUTHOR_RECORDS", AUTHOR_CAP)
        asyncio.run(broker.__aenter__())
    try:
        yield broker
    finally:
        asyncio.run(broker.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def secure_server() -> Iterator[Broker]:
    """A broker with accounts, for ann, bob and cyd."""
    yield from _serving([identity.public for identity in IDENTITIES.values()])


@pytest.fixture(scope="session")
def operators_server() -> Iterator[Broker]:
    """A broker without accounts: whoever connects can write what its operator could."""
    yield from _serving(None)


@pytest.fixture
def siege(secure_server: Broker) -> Siege:
    return Siege(secure_server.url, IDENTITIES, agent_of)


@pytest.fixture
def operator(operators_server: Broker) -> Siege:
    return Siege(operators_server.url, IDENTITIES, agent_of, login=False)
