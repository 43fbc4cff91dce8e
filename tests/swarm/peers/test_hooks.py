"""Hooks in an agent file: a standing peer tells its owner's commands about its own rooms, and about nothing else."""

import asyncio
import io
import json
import logging
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agents import Agent
from agents.agent import Proposed, Ratified, Scored
from protocols.duties.duties import ProposeDuty, RatifyDuty, ScoreDuty
from protocols.messages.concord import Option
from swarm.broker.server import Broker
from swarm.cli.logs import LogForm, log_to_stderr
from swarm.cli.schemas import schema_of
from swarm.clock import utc_now
from swarm.errors import BadInput
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.peers.inviting import invite
from swarm.peers.kept import Rooms
from swarm.peers.standing import StandingPeer, read_agent_file
from swarm.scenario.members import agent_config, read_agent
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.signed.identity import Identity
from tests.support.patience import until
from tests.support.small_rooms import go, room, start, swarm

WILLING = {"proposes": {"title": "Monday", "offer": {"day": "mon"}}, "scores": {"otherwise": 70}}


def noting(path: Path) -> list[str]:
    return [sys.executable, "-c", f"import sys; open({str(path)!r}, 'a').write(sys.stdin.read())"]


def told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


class Slow(Agent):
    """A mind that signs nothing before somebody lets it."""

    def __init__(self, signs: threading.Event) -> None:
        self._signs = signs

    async def propose(self, duty: ProposeDuty) -> Proposed:
        return Proposed(Option(title=duty.member, offer={"day": "mon"}))

    async def score(self, duty: ScoreDuty) -> Scored:
        return Scored({asked.id: 70 for asked in duty.options})

    async def ratify(self, duty: RatifyDuty) -> Ratified:
        await asyncio.to_thread(self._signs.wait)
        return Ratified(True)


def test_the_owner_is_told_of_what_its_own_member_owes_breaks_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the owner: told once of a slow answer of its member, of a broken promise, of the end."""
    monkeypatch.setattr("swarm.peers.standing.WAITING_S", 1)
    files = {kind: tmp_path / kind for kind in ("waiting", "violated", "ended")}
    hooked = read_agent({"accepts": {}, "on": {kind: noting(path) for kind, path in files.items()}})
    keys = {name: Identity.new() for name in ("ann", "bob")}
    signs = threading.Event()

    async def work() -> str:
        store = MemoryStore()
        logs = {name: MemoryLog(store) for name in keys}
        peers = {
            name: StandingPeer(
                hooked if name == "bob" else read_agent({}),
                key,
                logs[name],
                rooms=Rooms(),
                accept=[keys["ann"].public],
                minds=lambda replica, name: Slow(signs),
            )
            for name, key in keys.items()
        }
        standing = [asyncio.create_task(peer.run()) for peer in peers.values()]
        opening = read_scenario(
            room(
                *({"name": name, "key": key.public} for name, key in keys.items()),
                seconds=60,
                agenda=["concord", "commitments"],
                events={"came": {"by": "bob"}},
                promises=[
                    {"id": "come", "debtor": "bob", "creditor": "ann", "then": "came within 1 seconds of agreed"}
                ],
                rules={"watch_seconds": 5},
            )
        ).opening({name: key.public for name, key in keys.items()})
        entry = sign_opening(keys["ann"], opening, utc_now())
        await publish_opening(logs["ann"], entry)
        await invite(logs["ann"], keys["ann"], entry.room, [key.public for key in keys.values()])
        while not told(files["waiting"]):
            await asyncio.sleep(0.05)
        signs.set()
        while not told(files["ended"]):
            await asyncio.sleep(0.05)
        for peer in peers.values():
            peer.stop()
        await asyncio.gather(*standing)
        return entry.room

    name = go(work())
    waited = told(files["waiting"])
    assert {each["member"] for each in waited} == {"bob"}
    answers = [each["for"] for each in waited]
    assert "concord.ratify" in answers
    assert len(set(answers)) == len(answers)
    assert [(each["commitment"], each["state"]) for each in told(files["violated"])] == [("come", "violated")]
    assert [(each["on"], each["room"], each["outcome"]) for each in told(files["ended"])] == [("ended", name, "agreed")]


def test_a_hook_that_cannot_run_is_named_before_the_peer_stands(tmp_path: Path) -> None:
    """Protects who relies on a reminder: a program that is not there is bad input; one beside the file is found."""
    path = tmp_path / "agent.yaml"
    path.write_text("on: {waiting: [./remind.sh]}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"on\.waiting: no program './remind.sh'"):
        read_agent_file(path)
    script = tmp_path / "remind.sh"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    assert read_agent_file(path).on.waiting == [str(tmp_path / "remind.sh")]
    path.write_text("on: {always: [true]}\n", encoding="utf-8")
    with pytest.raises(BadInput, match="always"):
        read_agent_file(path)


def test_hooks_are_no_part_of_the_mind() -> None:
    """Protects minds and editors: what the owner is told by is not handed to the mind, and the schema knows it."""
    raw = {"agent": "scripted", "on": {"ended": ["mail", "me"]}}
    file = read_agent(raw)
    assert "on" not in agent_config(file.member)
    make_agent(agent_config(file.member))
    jsonschema.Draft202012Validator(schema_of("agent")).validate(raw)


def test_a_log_of_json_lines_names_rooms_and_keeps_to_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects whoever feeds it to a collector: one object a line, the room by itself, a trace that breaks no line."""
    logger = logging.getLogger("swarm")
    name, err = "small-" + "a" * 26, io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    # What other handlers do with a line, or with a stream that is gone, is no matter of this one's.
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", False)
    level = logger.level
    try:
        log_to_stderr(LogForm.JSON)
        logging.getLogger("swarm.peers.standing").warning("%s: declined: %s", name, "two\nlines")
        try:
            raise ValueError("no")
        except ValueError:
            logging.getLogger("swarm.peers.standing").exception("a fault of its own")
    finally:
        logger.setLevel(level)
    first, second = (json.loads(line) for line in err.getvalue().splitlines())
    assert (first["level"], first["room"], first["text"]) == ("warning", name, f"{name}: declined: two\nlines")
    assert first["time"].endswith("Z")
    assert "room" not in second
    assert "ValueError: no" in second["trace"]


def test_a_peer_with_hooks_and_a_json_log_among_several_servers(tmp_path: Path) -> None:
    """Protects the verb: hooks of its file, a JSON object a line on stderr, a server that is away passed by."""
    ended = tmp_path / "ended"
    keys = {name: Identity.new() for name in ("ann", "bob")}
    for name, key in keys.items():
        key.save(tmp_path / f"{name}.key")
        (tmp_path / f"{name}.json").write_text(
            json.dumps(WILLING | {"accepts": {"openers": [keys["ann"].public]}, "on": {"ended": noting(ended)}}),
            encoding="utf-8",
        )
    scenario = tmp_path / "room.json"
    members = ({"name": name, "key": key.public} for name, key in keys.items())
    scenario.write_text(json.dumps(room(*members, seconds=60)), encoding="utf-8")

    async def serve() -> None:
        async with Broker() as broker:
            await asyncio.to_thread(look, f"nats://127.0.0.1:1,{broker.url}")

    def look(servers: str) -> None:
        peers = [
            start(
                "peer",
                str(tmp_path / f"{name}.json"),
                *("--key", str(tmp_path / f"{name}.key"), "--server", servers, "--once", "--log", "json"),
            )
            for name in keys
        ]
        done = swarm("open", str(scenario), "--key", str(tmp_path / "ann.key"), "--server", servers)
        assert done.returncode == 0, done.stderr
        for peer in peers:
            out, err = peer.communicate(timeout=50)
            assert "agreed" in out, err
            lines = [json.loads(line) for line in err.splitlines()]
            assert any(line.get("room") == out.split()[0] for line in lines)
        until(lambda: len(told(ended)) == 2, "both owners are told")

    go(serve(), 90)


def test_what_is_no_list_of_servers_is_bad_input() -> None:
    """Protects the command line: each of several servers is looked at, and the wrong one is named."""
    done = swarm("status", "x-abc", "--server", "nats://127.0.0.1:1,http://nowhere")
    assert done.returncode == 2
    assert "'http://nowhere' is no NATS server" in done.stderr
