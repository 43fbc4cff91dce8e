"""A room that is watched after its members' processes have gone: things said in it one at a time, by key."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from swarm.auditing.auditing import audit
from swarm.broker.server import Broker
from swarm.peers.peer import Peer, open_room
from swarm.scenario.members import agent_config
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.signed.identity import Identity
from swarm.tasks import end
from swarm.visit.saying import reading

SWARM = str(Path(sys.executable).with_name("swarm"))

SCENARIO = {
    "room": "loan",
    "intent": "Lend a ladder.",
    "agenda": ["commitments"],
    "events": {
        "lent": {"by": "ada", "confirmed_by": "ben"},
        "returned": {"by": "ben", "confirmed_by": "ada"},
    },
    "promises": [
        {"id": "loan", "debtor": "ada", "creditor": "ben", "then": "lent within 1 hours of agreed"},
        {"id": "return", "debtor": "ben", "creditor": "ada", "if": "lent", "then": "returned within 1 hours of lent"},
    ],
    "rules": {"step_seconds": 10, "watch_seconds": 3600},
    "members": [{"name": "ada", "agent": "scripted"}, {"name": "ben", "agent": "scripted"}],
}


def swarm(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([SWARM, *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("secure", [pytest.param(False, marks=pytest.mark.long), True], ids=["open", "secure"])
def test_a_room_lives_on_and_is_spoken_in_by_key(secure: bool, tmp_path: Path) -> None:
    """Protects long life: said by the verb, judged by the rules, refused before it is signed, exported and verified."""
    ada, ben, eve = (tmp_path / f"{name}.key" for name in ("ada", "ben", "eve"))
    keys = [Identity.new() for _ in range(3)]
    for key, path in zip(keys, (ada, ben, eve), strict=True):
        key.save(path)
    members = [
        {**member, "key": key.public}
        for member, key in zip(SCENARIO["members"], keys, strict=False)  # type: ignore[call-overload]
    ]
    scenario = {**SCENARIO, "members": members}

    async def live() -> None:
        async with Broker(members=[key.public for key in keys] if secure else None) as broker:
            await asyncio.to_thread(_live, broker.url)

    def _live(url: str) -> None:
        parsed = read_scenario(scenario)
        address = open_room(scenario, keys[0], url)

        async def sit() -> None:
            minds = [make_agent(agent_config(member)) for member in parsed.members]
            peers = [Peer(mind, key, url) for mind, key in zip(minds, keys, strict=False)]
            seats = [asyncio.create_task(peer.join(address.room, address.opener)) for peer in peers]
            async with reading(address.room, url, keys[0]) as replica:
                following = asyncio.create_task(replica.follow())
                while replica.room.closing is None or replica.room.step is not None:
                    await replica.changed(replica.version)
            await end([following, *seats])

        asyncio.run(sit())
        say = ["say", address.room]
        at = ["--server", url, "--json"]

        code, out, _ = swarm(*say, "report", "returned", "--key", str(ada), *at)
        assert (code, json.loads(out)["code"]) == (1, "not_allowed")
        code, out, _ = swarm(*say, "report", "lent", "rungs=12", "--key", str(ada), *at)
        assert code == 0
        report = json.loads(out)["id"]
        code, out, _ = swarm(*say, "confirm", report, "--key", str(ada), *at)
        assert (code, json.loads(out)["code"]) == (1, "not_allowed")
        code, out, _ = swarm(*say, "confirm", report, "--key", str(ben), *at)
        assert code == 0
        code, out, err = swarm(*say, "release", "return", "--because", "Keep it.", "--key", str(ada), *at)
        assert code == 0, err
        code, _, err = swarm(*say, "cancel", "loan", "--key", str(eve), *at)
        assert code == 2
        assert "no member" in err
        code, _, err = swarm(*say, "shout", "--key", str(ada), *at)
        assert code == 2

        receipt, ledger, roster = tmp_path / "ben.receipt", tmp_path / "loan.jsonl", tmp_path / "roster.json"
        code, _, err = swarm("receipt", address.room, "--key", str(ben), "--server", url, "-o", str(receipt))
        assert code == 0, err
        code, _, err = swarm("export", address.room, "--key", str(ada), "--server", url, "-o", str(ledger))
        assert code == 0, err
        roster.write_text(json.dumps({"ada": keys[0].public, "ben": keys[1].public}))
        shown = audit(ledger, roster=roster, receipts=[receipt])
        assert shown.verdict == "verified", shown.findings
        assert shown.covered_to == shown.entries
        assert shown.summary["commitments"] == {"loan": "satisfied", "return": "terminated"}

    asyncio.run(live())
