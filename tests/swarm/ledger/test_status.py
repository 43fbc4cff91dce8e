"""How a room stands, told from its log alone: said, delivered, acted on; who is stale; hooks; the verbs on a server."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocols.core.instants import SECOND
from swarm.broker.server import Broker
from swarm.clock import utc_now
from swarm.ledger.fold import Fold
from swarm.ledger.status import status_of
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.peers.hooks import Hooks
from swarm.peers.peer import open_room
from swarm.scenario.hooks import On
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from swarm.signed.identity import Identity
from tests.support.small_rooms import Sitting, go, member, room, start, swarm


def waiting(stands: dict[str, Any]) -> dict[str, str]:
    return {each["member"]: each["state"] for each in stands["waiting"]}


def test_said_delivered_and_acted_on_are_told_apart() -> None:
    """Protects who waits: asked is not read, read is not answered, and each is read off the log."""

    async def work() -> list[dict[str, str]]:
        sitting = Sitting(room(member("ann"), member("bob"), member("cid"), seconds=30))
        replica = await sitting.open()
        told = [waiting(status_of(replica.fold, utc_now()))]
        speakers = {
            name: Speaker(key, replica, MemoryOutbox(), utc_now, patience_s=10)
            for name, key in sitting.identities.items()
        }
        opening = replica.room.setting.opening_id
        joins = {"kind": "room.join", "step": "room.joining", "opening": opening, "manifest": {"agent": "test"}}
        await speakers["ann"].say(joins)
        told.append(waiting(status_of(replica.fold, utc_now())))
        await speakers["bob"].say({"kind": "room.tick"})
        told.append(waiting(status_of(replica.fold, utc_now())))
        return told

    assert go(work()) == [
        {"ann": "said", "bob": "said", "cid": "said"},
        {"bob": "said", "cid": "said"},
        {"bob": "delivered", "cid": "said"},
    ]


def test_a_report_that_nobody_answered_is_shown_with_whom_it_waits_for() -> None:
    """Protects a creditor: a claim is said, then delivered; only the answer of the one who must confirm settles it."""
    quiet = {"name": "ann", "confirms": False}
    loud = {"name": "bob", "performs": [{"event": "moved", "when": "agreed"}]}
    promise = {"id": "move", "debtor": "bob", "creditor": "ann", "then": "moved within 5 days of agreed"}
    scenario = {
        "room": "claims",
        "intent": "Move.",
        "agenda": ["commitments"],
        "events": {"moved": {"by": "bob", "confirmed_by": "ann"}},
        "promises": [promise],
        "rules": {"step_seconds": 20, "watch_seconds": 20},
        "members": [quiet, loud],
    }

    async def work() -> dict[str, Any]:
        sitting = Sitting(scenario)
        replica = await sitting.open()
        seats = [
            asyncio.create_task(Seat(key, sitting.agents[name], replica, MemoryOutbox(), utc_now).run())
            for name, key in sitting.identities.items()
        ]
        follow = asyncio.create_task(replica.follow())
        while not [w for w in status_of(replica.fold, utc_now())["waiting"] if w["for"] == "confirm moved"] or (
            replica.room.step is not None
        ):
            await replica.changed(replica.version)
        for task in (*seats, follow):
            task.cancel()
        await asyncio.gather(*seats, follow, return_exceptions=True)
        return status_of(replica.fold, utc_now())

    stands = go(work())
    assert [(w["member"], w["for"]) for w in stands["waiting"]] == [("ann", "confirm moved")]
    assert stands["promises"]["move"]["state"] in ("detached", "conditional")


def test_a_member_that_died_long_ago_is_stale_and_not_counted_on() -> None:
    """Protects who plans with it: what a member holds that has shown no sign of life for an hour is shown as that."""

    async def work() -> tuple[Fold, int]:
        store = MemoryStore()
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30), log=MemoryLog(store))
        replica = await sitting.open()
        return replica.fold, replica.room.at

    fold, at = go(work())
    fresh, late = status_of(fold, at + SECOND), status_of(fold, at + 3600 * SECOND)
    assert {w["member"]: w["stale"] for w in fresh["waiting"]} == {"ann": False, "bob": True}  # Bob was never there.
    assert all(w["stale"] for w in late["waiting"])
    assert late["step"]["late"]
    assert late["waiting"][0]["seconds"] == 3600


def test_a_clock_that_is_off_is_shown() -> None:
    """Protects who looks for the cause of disputes: each member's clock as the store times show it."""

    async def work() -> dict[str, Any]:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        replica = await sitting.open()
        slow = Speaker(
            sitting.identities["bob"], replica, MemoryOutbox(), lambda: utc_now() - 5 * SECOND, patience_s=10
        )
        await slow.say({"kind": "room.tick"})
        return status_of(replica.fold, utc_now())

    clocks = {m["name"]: m["clock_ms"] for m in go(work())["members"]}
    assert abs(clocks["ann"]) < 4000 < clocks["bob"]


# -- hooks -------------------------------------------------------------------------------------------------------------


def stands(**more: Any) -> dict[str, Any]:
    return {"room": "r", "waiting": [], "promises": {}, "over": False, "outcome": None, "reason": None} | more


def noting(path: Path) -> list[str]:
    return [sys.executable, "-c", f"import sys; open({str(path)!r}, 'a').write(sys.stdin.read())"]


def test_each_thing_is_told_once_to_the_hook_that_is_named(tmp_path: Path) -> None:
    """Protects the owner: one message for one thing, however often the room is looked at; hostile text is only data."""
    waits, broke, over = (tmp_path / name for name in ("waits", "broke", "over"))
    awaited = {"member": "ann'; rm -rf /", "for": "concord.ratify", "position": 9, "state": "said"}

    async def work() -> None:
        hooks = Hooks(On(waiting=noting(waits), violated=noting(broke), ended=noting(over)))
        broken = {"p": {"state": "violated", "debtor": "bob", "creditor": "ann"}}
        for _ in range(3):
            hooks.tell_of(stands(waiting=[awaited]))
            hooks.tell_of(stands(promises=broken))
        hooks.tell_of(stands(over=True, outcome="agreed"))
        await hooks.close()

    go(work())
    assert [json.loads(line)["member"] for line in waits.read_text().splitlines()] == ["ann'; rm -rf /"]
    assert json.loads(broke.read_text()) == {
        "commitment": "p", "creditor": "ann", "debtor": "bob", "on": "violated", "room": "r", "state": "violated"
    }  # fmt: skip
    assert json.loads(over.read_text())["outcome"] == "agreed"


def test_a_second_report_and_an_offer_made_anew_are_told_too(tmp_path: Path) -> None:
    """Protects the owner: what has the same name and stands at another position is another thing to answer."""
    waits = tmp_path / "waits"

    async def work() -> None:
        hooks = Hooks(On(waiting=noting(waits)))
        for position in (4, 4, 7):
            for what in ("confirm paid", "accept call"):
                hooks.tell_of(stands(waiting=[{"member": "ann", "for": what, "position": position}]))
        await hooks.close()

    go(work())
    told = sorted((each["for"], each["position"]) for each in map(json.loads, waits.read_text().splitlines()))
    assert told == [("accept call", 4), ("accept call", 7), ("confirm paid", 4), ("confirm paid", 7)]


def test_a_hook_that_fails_or_is_missing_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Protects what is watched: a hook is never a reason to stop."""

    async def work() -> None:
        hooks = Hooks(On(ended=["no-such-program-here"], violated=[sys.executable, "-c", "raise SystemExit(3)"]))
        hooks.tell_of(stands(over=True, promises={"p": {"state": "disputed", "debtor": "b", "creditor": "a"}}))
        await hooks.close()

    go(work())
    said = [record.getMessage() for record in caplog.records]
    assert any("no-such-program-here cannot be started" in text for text in said)
    assert any("ended with code 3" in text for text in said)


def test_a_hook_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Protects the machine: no hook outlives its time."""
    monkeypatch.setattr("swarm.peers.hooks.HOOK_S", 0.3)

    async def work() -> None:
        hooks = Hooks(On(ended=[sys.executable, "-c", "import time; time.sleep(3600)"]))
        hooks.tell_of(stands(over=True))
        while hooks._running:
            await asyncio.sleep(0.05)

    go(work())
    assert any("ended after" in record.getMessage() for record in caplog.records)


# -- the verbs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secure", [False, True], ids=["open", "secure"])
def test_the_verbs_on_a_server(tmp_path: Path, secure: bool) -> None:
    """Protects who runs a peer: status, rooms and watch agree with the log, with and without permissions."""
    keys = {name: Identity.new() for name in ("ann", "bob")}
    for name, key in keys.items():
        key.save(tmp_path / f"{name}.key")
    ended = tmp_path / "ended"
    hook = tmp_path / "hook.py"
    hook.write_text(f"import sys\nopen({str(ended)!r}, 'w').write(sys.stdin.read())\n", encoding="utf-8")
    scenario = room(*({"name": name, "key": key.public} for name, key in keys.items()), seconds=60)

    async def serve() -> None:
        async with Broker(members=[key.public for key in keys.values()] if secure else None) as broker:
            await asyncio.to_thread(look, broker.url)

    def look(url: str) -> None:
        login = ["--key", str(tmp_path / "ann.key")]
        address = open_room(scenario, keys["ann"], url)
        done = swarm("status", address.room, "--server", url, *login, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert waiting(told) == {"ann": "said", "bob": "said"}
        assert told["step"]["id"] == "room.joining"
        text = swarm("status", address.room, "--server", url, *login).stdout
        assert "WAITING   bob: room.joining, said" in text
        listed = json.loads(swarm("rooms", "--server", url, "--key", str(tmp_path / "bob.key"), "--json").stdout)
        assert [(each["room"], each["as"], each["owed"]) for each in listed["rooms"]] == [
            (address.room, "bob", ["room.joining"])
        ]
        watching = start("watch", address.room, "--server", url, *login, "--on-ended", f"{sys.executable} {hook}")
        said = [
            swarm(
                "say",
                address.room,
                "leave",
                "--because",
                "no time",
                "--key",
                str(tmp_path / "bob.key"),
                "--server",
                url,
            )
        ]
        assert said[0].returncode == 0, said[0].stderr
        out, err = watching.communicate(timeout=40)
        assert watching.returncode == 0, err
        assert "over, abandoned: declined: bob" in out.splitlines()[-1]
        assert json.loads(ended.read_text())["outcome"] == "abandoned"

    go(serve(), 90)


def test_wrong_input_is_one_line(told: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the command line: no server, no room and no hook are said plainly, with the code for each."""
    monkeypatch.setattr("swarm.visit.watching.ROOM_S", 1.0)
    code, _, nowhere = told("status", "x-abc", "--server", "nats://127.0.0.1:1")
    assert code == 3
    assert nowhere.count("\n") == 1
    code, _, empty = told("watch", "x-abc", "--server", "nats://127.0.0.1:1", "--on-ended", "")
    assert code == 2
    assert "Traceback" not in empty + nowhere


def test_rooms_are_those_a_key_has_spoken_in() -> None:
    """Protects the list: in the memory log as on the server, the latest last."""

    async def work() -> list[str]:
        log = MemoryLog()
        await log.append("one", "UA", b"x", expected_last=0)
        await log.append("two", "UA", b"x", expected_last=0)
        await log.append("three", "UB", b"x", expected_last=0)
        await log.append("one", "UA", b"y", expected_last=1)
        return list(await log.rooms("UA"))

    assert go(work()) == ["two", "one"]
