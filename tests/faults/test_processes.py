"""Nobody waits for ever: whoever dies, stops or is cut off, a room of real processes ends, and says who was silent."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from swarm.broker.server import server_binary
from swarm.errors import LogFull
from swarm.log.jetstream import JetStreamLog
from swarm.signed.sizes import MAX_PAYLOAD_BYTES
from tests.support.fault_rooms import codes, small, willing
from tests.support.fault_site import ROOT, SWARM, Process, Server, Site
from tests.support.patience import until
from tests.support.small_rooms import alive, descendants

Sites = Callable[..., Site]
NAMES = ("ann", "bob", "cid")


def stand(site: Site, *names: str, **more: Any) -> None:
    """Let *names* stand, all of the same mind."""
    for name in names:
        site.stand(name, willing(), **more)
    for name in names:
        site.peers[name].stands()


def silent(findings: list[dict[str, Any]]) -> dict[str, str]:
    """Return for each member that was silent what is said of it first."""
    return {f["who"]: f["text"] for f in reversed(findings) if f["code"] == "silent"}


# -- members that do not come back ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "kind", "step", "outcome"),
    [
        ("ann", "room.join", "room.joining", "abandoned"),
        pytest.param("cid", "concord.ratify", "concord.ratify", "no_agreement", marks=pytest.mark.long),
        pytest.param("ann", "seal", "concord.option.seal", "no_agreement", marks=pytest.mark.long),
        pytest.param("cid", "reveal", "concord.ballot.1.reveal", "no_agreement", marks=pytest.mark.long),
        pytest.param("cid", "room.close", "room.closing", "agreed", marks=pytest.mark.long),
    ],
    ids=["opener-joining", "member-ratify", "opener-option", "member-reveal", "member-close"],
)
def test_who_dies_for_good_ends_a_room_by_name(sites: Sites, who: str, kind: str, step: str, outcome: str) -> None:
    """Protects the others' time: the room ends after the step of the dead, the opener too, and says who was silent."""
    site = sites(*NAMES)
    stand(site, *NAMES)
    site.peers[who].tended = False
    site.strike(by=who, room="dead", kind=kind, step=step, moment="before", dies="peer")
    room = site.open(small("dead", *NAMES, seconds=5))
    told = site.until_over(room, *(name for name in NAMES if name != who))
    assert site.struck() == 1
    assert len(set(told.values())) == 1
    found = site.judged(room, "bob")
    assert found.summary["outcome"] == outcome
    assert next(iter(told.values())).split("  ")[0] == outcome
    if outcome == "abandoned":
        assert who in str(found.summary["reason"])
    else:
        assert step in silent(found.findings)[who]
    assert found.verdict == "incomplete"


# -- processes and servers that stop for a while ----------------------------------------------------------------------


@pytest.mark.long
def test_a_member_that_stops_for_longer_than_a_step_is_silent_and_late(sites: Sites) -> None:
    """Protects the others: they go on without whoever is suspended, who finds the same end and forks nothing."""
    site = sites(*NAMES)
    stand(site, *NAMES)
    site.strike(by="ann", room="slept", kind="seal", step="concord.ballot.1.seal", moment="before", dies="peer")
    site.peers["ann"].tended = False
    room = site.open(small("slept", *NAMES, seconds=8))
    until(lambda: ("ann", "concord.ballot.1.seal") in site.asked(room), "the ballot is open")
    site.peers["bob"].process.pause()
    site.peers["ann"].start()
    told = site.until_over(room, "ann", "cid")
    site.peers["bob"].process.resume()
    assert site.until_over(room)["bob"] in told.values()
    found = site.judged(room, "ann")
    assert not codes(found.findings) & {("equivocation", "bob")}
    assert "bob" in silent(found.findings), "bob was stopped until the room was over, and ann had not sealed before"
    assert found.summary["outcome"] == "no_agreement"


def test_a_server_that_stops_or_dies_is_waited_for(sites: Sites) -> None:
    """Protects the run: with the server suspended, then dead and back on its port, everybody goes on to agree."""
    site = sites(*NAMES)
    stand(site, *NAMES, pause_s=0.3)
    room = site.open(small("stopped", *NAMES))
    until(lambda: ("bob", "concord.option.seal") in site.asked(room), "it has begun")
    assert site.server.process is not None
    site.server.process.pause()
    until(lambda: not _answers(site.server), "nobody is answered")
    site.server.process.resume()
    until(lambda: ("bob", "concord.ballot.1.seal") in site.asked(room), "it goes on")
    site.server.kill()
    assert set(site.until_over(room).values()) == {"agreed"}
    found = site.judged(room, "cid")
    assert found.verdict == "verified"
    assert not {code for code, _ in codes(found.findings)} & {"silent", "late", "excused"}
    assert set(site.asked(room).values()) == {1}


def _answers(server: Server) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=4) as connection:
            return connection.recv(4) == b"INFO"
    except OSError:
        return False


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "way",
    ["cut", *(pytest.param(way, marks=LONG) for way in ("half client", "half server", "swallow", "late", "refuse"))],
)
def test_a_member_behind_a_bad_network_still_answers(sites: Sites, way: str) -> None:
    """Protects members far away: cut, half-closed, silent and slow connections are noticed and made again."""
    site = sites("ann", "bob")
    proxy = site.proxy()
    site.stand("ann", willing(), pause_s=0.2)
    site.stand("bob", willing(), url=proxy.url, pause_s=0.2)
    for peer in site.peers.values():
        peer.stands()
    proxy.late_s = 0.3 if way == "late" else 0
    room = site.open(small("far", "ann", "bob"))
    for step in ("concord.option.seal", "concord.ballot.1.seal"):
        until(lambda step=step: ("bob", step) in site.asked(room), f"{step} is open")
        if way == "cut":
            proxy.cut()
        elif way.startswith("half"):
            proxy.half_close(towards=way.removeprefix("half "))
        elif way in ("swallow", "refuse") and step == "concord.option.seal":
            proxy.refuse = way == "refuse"
            proxy.swallow(way == "swallow")
            proxy.refuse or time.sleep(5)  # Long enough to be noticed.
            proxy.refuse = False
            proxy.swallow(False)
    assert set(site.until_over(room).values()) == {"agreed"}
    found = site.judged(room, "ann")
    assert found.verdict == "verified"
    assert set(site.asked(room).values()) == {1}


# -- servers that refuse ----------------------------------------------------------------------------------------------


async def _fill(site: Site, name: str) -> None:
    """Fill the store with what *name* writes elsewhere."""
    identity = site.identities[name]
    async with await JetStreamLog.connect(site.server.url, identity=identity, timeout_s=60) as log:
        last, size = 0, MAX_PAYLOAD_BYTES
        while size > 16:
            try:
                last = await log.append("elsewhere", identity.public, b"x" * size, expected_last=last, timeout_s=60)
            except LogFull:
                size //= 2


def test_a_full_store_is_said_and_loses_nothing(sites: Sites) -> None:
    """Protects what was said: with the store full peers stop there in words; with more room they go on to agree."""
    site = sites("ann", "bob", "dan", store_bytes=4 * 1024**2)
    stand(site, "ann", "bob")
    site.strike(by="ann", room="full", kind="seal", step="concord.ballot.1.seal", moment="before", dies="peer")
    site.peers["ann"].tended = False
    room = site.open(small("full", "ann", "bob", seconds=90))
    until(lambda: site.peers["ann"].process.code is not None, "ann is away")
    until(lambda: ("bob", "concord.ballot.1.seal") in site.asked(room), "bob scores")
    asyncio.run(_fill(site, "dan"))
    site.peers["ann"].start()
    said = site.peers["ann"].says("this peer stops there")
    assert room in said
    assert "the log is full" in said
    assert "Traceback" not in site.peers["ann"].log
    for peer in site.peers.values():
        assert peer.process.end() == 0
    site.server.store_bytes *= 4
    site.server.kill()
    site.server.start()
    for peer in site.peers.values():
        peer.start()
    assert set(site.until_over(room).values()) == {"agreed"}
    found = site.judged(room, "bob")
    assert found.verdict == "verified"
    assert site.asked(room)["bob", "concord.ballot.1.seal"] == 1


@pytest.mark.long
def test_a_stream_deleted_and_made_again_is_noticed(sites: Sites) -> None:
    """Protects against a log that forgot: everybody stops in that room and says why; other rooms can open."""
    site = sites("ann", "bob")
    stand(site, "ann", "bob")
    site.strike(by="ann", room="gone", kind="seal", step="concord.ballot.1.seal", moment="before", dies="peer")
    site.peers["ann"].tended = False
    room = site.open(small("gone", "ann", "bob", seconds=8))
    until(lambda: ("bob", "concord.ballot.1.seal") in site.asked(room), "bob scores")
    until(lambda: site.peers["ann"].process.code is not None, "ann is away")
    site.server.delete_rooms()
    site.server.make_streams()
    site.peers["ann"].start()
    assert "is gone" in site.peers["bob"].says(f"{room}: this peer stops there")
    again = site.open(small("again", "ann", "bob"))
    assert set(site.until_over(again).values()) == {"agreed"}


def test_a_permission_taken_away_is_an_error_at_once(sites: Sites) -> None:
    """Protects the operator: a key that may not write, or not log in, is told so in words, not by time-outs."""
    site = sites("ann", "bob")
    stand(site, "ann", "bob")
    keys, key = site.server.keys, site.keys["bob"]
    site.strike(by="ann", room="denied", kind="seal", step="concord.option.seal", moment="before", dies="peer")
    site.peers["ann"].tended = False
    room = site.open(small("denied", "ann", "bob"))
    until(lambda: site.peers["ann"].process.code is not None, "ann is away")
    until(lambda: ("bob", "concord.option.seal") in site.asked(room), "bob proposes")
    site.server.configure()
    conf = site.server.folder / "conf"
    conf.write_text(conf.read_text().replace(f'"swarm.room.*.{key}", ', ""))
    site.server.reload()
    site.peers["ann"].start()
    assert "does not let this key publish" in site.peers["bob"].says(f"{room}: this peer stops there")
    assert site.peers["bob"].process.end() == 0
    site.server.keys = [each for each in keys if each != key]
    site.server.configure()
    site.server.reload()
    until(lambda: "Reloaded server configuration" in (site.server.folder / "server.log").read_text(), "it is reloaded")
    refused = site.peers["bob"].start()
    assert refused.process.wait() == 3
    assert "refuses this key" in refused.log


# -- runs -------------------------------------------------------------------------------------------------------------


def _run_command(site: Site) -> list[str]:
    """Return the command that runs a room of three, all with slow minds that write down what they are asked."""
    args = {"notes": str(site.notes), "script": willing(), "pause_s": "0.4"}
    mind = {"agent": "tests.support.fault_mind:Noting", "folder": str(ROOT), "args": args}
    scenario = site.folder / "run.json"
    members = [{"name": name, **mind} for name in NAMES]
    scenario.write_text(json.dumps(small("run", *NAMES) | {"members": members}), encoding="utf-8")
    written = ["--ledger", str(site.folder / "run.jsonl"), "--roster", str(site.folder / "roster.yaml")]
    return [SWARM, "run", str(scenario), "--json", *written]


def test_a_run_on_a_server_that_is_killed_and_comes_back_goes_on(sites: Sites) -> None:
    """Protects `swarm run --server`: the server's death is waited out; the run agrees, with nothing said twice."""
    site = sites("ann")
    server = site.open_server()
    process = Process(site.folder / "run", "run", [*_run_command(site), "--server", server.url])
    until(lambda: site.notes.exists() and "ballot.1.seal" in site.notes.read_text(), "the ballot is open")
    server.kill()
    server.start()
    assert process.wait() == 0
    result = json.loads(process.out.read_text())
    assert (result["outcome"], result["findings"]) == ("agreed", [])
    questions = site.notes.read_text().splitlines()
    assert len(questions) == len(set(questions))


@pytest.mark.long
def test_a_peer_told_to_stop_while_nobody_answers_stops(sites: Sites) -> None:
    """Protects the operator: with the server suspended in mid-room, SIGTERM still ends a peer, which resumes later."""
    site = sites("ann", "bob")
    stand(site, "ann", "bob", pause_s=0.3)
    room = site.open(small("stuck", "ann", "bob", seconds=90))
    until(lambda: ("bob", "concord.option.seal") in site.asked(room), "it has begun")
    assert site.server.process is not None
    site.server.process.pause()
    assert site.peers["bob"].process.end() == 0
    assert "Traceback" not in site.peers["bob"].log
    site.server.process.resume()
    site.peers["bob"].start()
    assert set(site.until_over(room).values()) == {"agreed"}
    assert site.judged(room, "ann").verdict == "verified"
    assert set(site.asked(room).values()) == {1} or site.asked(room)["bob", "concord.option.seal"] == 2


@pytest.mark.long
def test_an_answer_kept_and_sent_too_late_is_late(sites: Sites) -> None:
    """Protects the next step: what was signed in time and sent after its step had closed counts for nothing."""
    site = sites(*NAMES)
    stand(site, *NAMES)
    for name, kind, step, moment in (
        ("cid", "seal", "concord.ballot.1.seal", "kept"),
        ("ann", "room.close", "room.closing", "before"),
    ):
        site.peers[name].tended = False
        site.strike(by=name, room="late", kind=kind, step=step, moment=moment, dies="peer")
    room = site.open(small("late", *NAMES, seconds=8))
    until(lambda: site.struck() == 2, "the room is about to close, with cid away since its ballot")
    site.peers["cid"].start()
    site.peers["ann"].start()
    site.until_over(room, "ann", "bob")
    found = site.judged(room, "bob")
    assert found.summary["outcome"] == "no_agreement"
    assert ("late", "cid") in codes(found.findings)
    assert "concord.ballot.1.seal" in silent(found.findings)["cid"]
    assert site.asked(room)["cid", "concord.ballot.1.seal"] == 1


@pytest.mark.long
@pytest.mark.parametrize("stopped", ["server", "member"])
def test_a_run_interrupted_while_something_stands_still_ends_and_goes_on(sites: Sites, stopped: str) -> None:
    """Protects whoever presses Ctrl-C: a suspended server or member keeps no run from ending, or from going on."""
    site = sites("ann")
    command = [*_run_command(site), "--dir", str(site.folder / "kept")]
    process = Process(site.folder / "run", "run", command)
    until(lambda: site.notes.exists() and "option.seal" in site.notes.read_text(), "the options are asked for")
    children = descendants(process.pid)
    what = str(server_binary()) if stopped == "server" else f"{sys.executable} -m swarm.running.member"
    os.kill(next(pid for pid, line in children.items() if line.startswith(what)), signal.SIGSTOP)
    assert process.end(signal.SIGINT) == 3
    until(lambda: not [pid for pid in children if alive(pid)], "everything has ended")
    again = Process(site.folder / "run", "again", command)
    assert again.wait() == 0
    result = json.loads(again.out.read_text())
    assert (result["outcome"], result["findings"]) == ("agreed", [])
