"""`swarm open` given again after it failed opens no second room for one question."""

from pathlib import Path
from typing import Any

import pytest

from swarm.clock import utc_now
from swarm.errors import Unavailable, WireError
from swarm.log.jetstream import JetStreamLog
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.peers import peer as single
from swarm.peers.peer import open_room
from swarm.signed.identity import Identity
from tests.support.small_rooms import member, room

ANN, BOB = Identity.new(), Identity.new()
SCENARIO = room(member("ann", key=ANN.public), member("bob", key=BOB.public))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryStore:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    store = MemoryStore()

    async def connect(*args: Any, **more: Any) -> MemoryLog:
        return MemoryLog(store)

    monkeypatch.setattr(JetStreamLog, "connect", connect)
    return store


def opened() -> str:
    return open_room(SCENARIO, ANN, "nats://127.0.0.1:1", timeout_s=0.2).room


@pytest.mark.parametrize("stored", [True, False])
def test_an_opening_that_failed_is_taken_up(store: MemoryStore, monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    """Protects the members from deciding one question twice: the room that may be there is the room that is opened."""
    append = MemoryLog.append

    async def lost(self: MemoryLog, *args: Any, **more: Any) -> int:
        if stored and not store._rooms:
            await append(self, *args, **more)
        raise Unavailable("no answer in time")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryLog, "append", lost)
        with pytest.raises(WireError):
            opened()
    first = opened()
    assert [room for room, _ in store._rooms if store._rooms[room, ANN.public]] == [first]
    # Asked for once more after it was told to be open, it is another room.
    assert opened() != first


def test_an_opening_too_old_to_open_anything_is_left_behind(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects whoever comes back later: bytes that no log takes any more are not said again."""

    async def lost(self: MemoryLog, *args: Any, **more: Any) -> int:
        raise Unavailable("no answer in time")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryLog, "append", lost)
        patch.setattr(single, "utc_now", lambda: utc_now() - 600 * 1_000_000)
        with pytest.raises(WireError):
            opened()
    assert store._rooms[opened(), ANN.public]
