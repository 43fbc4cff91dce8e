"""Rooms on a cluster of three servers of which some die or stall in mid-run: nothing acknowledged is lost."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from protocols.views.summary import summary_of
from swarm import audit, run
from tests.support.cluster_rooms import Four, scenario
from tests.support.small_rooms import go, start, swarm, written
from tests.support.three_servers import NAMES, three_servers

HANG_S = 240


def agrees_with_a_run_in_memory(room: Any, four: Four, path: Path) -> None:
    """The room ended as it would have without any trouble, and an auditor says the same of what is on the log."""
    undisturbed, summary = run(scenario(), memory=True), summary_of(room)
    assert summary["outcome"] == undisturbed.outcome == "agreed"
    assert summary["decision"] == undisturbed.plain()["decision"]
    assert summary["divergences"] == undisturbed.plain()["divergences"]
    assert summary["commitments"] == undisturbed.commitments == {"come": "satisfied"}
    shown = go(audited(four, path), HANG_S)
    assert shown.verdict == "verified", shown.findings
    assert not {finding["code"] for finding in shown.findings} & {"silent", "excused", "late", "equivocation"}


async def audited(four: Four, path: Path) -> Any:
    return await four.ledger(path)


@pytest.mark.parametrize("how", ["killed", pytest.param("stopped", marks=pytest.mark.long)])
@pytest.mark.timeout(400)
def test_a_leader_that_goes_in_mid_run_costs_time_and_nothing_else(tmp_path: Path, how: str) -> None:
    """Protects a run from its server: the leader is gone or silent, another takes over, and no entry is lost."""
    four = Four()
    with three_servers(list(four.keys.values())) as cluster:
        four.servers = cluster.urls

        async def play() -> Any:
            await cluster.formed()
            leader = await cluster.leader()

            async def trouble() -> None:
                (cluster.kill if how == "killed" else cluster.stop)(leader)

            return (await four.run((15, trouble))).room

        agrees_with_a_run_in_memory(go(play(), HANG_S), four, tmp_path / "room.jsonl")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_two_of_three_down_and_back(tmp_path: Path) -> None:
    """Protects what a quorum is for: with one server left nothing is acknowledged; with three again the run goes on."""
    four = Four(step_seconds=120)
    with three_servers() as cluster:
        four.servers = cluster.urls

        async def play() -> Any:
            await cluster.formed()
            leader = await cluster.leader()
            others = [name for name in ("one", "two", "three") if name != leader]

            async def trouble() -> None:
                cluster.kill(*others)
                await asyncio.sleep(4)  # What was under way is acknowledged or not by now.
                before = len(four.acknowledged)
                await asyncio.sleep(4)
                assert len(four.acknowledged) == before, "acknowledged by one server of three"
                cluster.start(*others)

            return (await four.run((30, trouble))).room

        agrees_with_a_run_in_memory(go(play(), HANG_S), four, tmp_path / "room.jsonl")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_server_in_turn_is_killed_and_comes_back(tmp_path: Path) -> None:
    """Protects an upgrade server by server, done badly: each is killed once, and comes back before the next."""
    four = Four(pause_s=1, step_seconds=120)
    with three_servers() as cluster:
        four.servers = cluster.urls

        async def play() -> Any:
            await cluster.formed()

            async def restart(name: str) -> None:
                cluster.kill(name)
                await asyncio.sleep(1)
                cluster.start(name)
                await cluster.leader()

            troubles = [(at, partial(restart, name)) for at, name in ((6, "one"), (20, "two"), (40, "three"))]
            return (await four.run(*troubles)).room

        agrees_with_a_run_in_memory(go(play(), HANG_S), four, tmp_path / "room.jsonl")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_processes_on_several_servers(tmp_path: Path) -> None:
    """Protects the command line: `--server a,b,c` with one of them stopped, for a run and for who looks at it."""
    with three_servers() as cluster:
        go(cluster.formed(), HANG_S)
        leader = go(cluster.leader(), HANG_S)
        cluster.stop(next(name for name in NAMES if name != leader))
        path, ledger, roster = written(tmp_path, scenario()), tmp_path / "l.jsonl", tmp_path / "r.yaml"
        process = start(
            "run", path, "--server", cluster.urls, "--ledger", str(ledger), "--roster", str(roster), "--json"
        )
        out, err = process.communicate(timeout=HANG_S)
        assert process.returncode == 0, err
        told = json.loads(out)
        assert (told["outcome"], told["commitments"]) == ("agreed", {"come": "satisfied"})
        assert audit(ledger, roster=roster).verdict == "verified"
        stands = swarm("status", told["room"], "--server", cluster.urls, "--json")
        assert json.loads(stands.stdout)["outcome"] == "agreed", stands.stderr
        checks = json.loads(swarm("doctor", "--server", cluster.urls, "--json").stdout)
        assert checks["healthy"], checks
