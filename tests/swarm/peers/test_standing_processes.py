"""Standing peers as companies run them: a process each, a key each, one secured broker between them."""

import asyncio
import json
import re
import signal
from pathlib import Path

import pytest

from swarm.log.jetstream import JetStreamLog
from swarm.signed.invitation import sign_invitation
from tests.support.patience import until
from tests.support.standing_site import Site, scenario, script


def test_two_rooms_at_once_and_a_peer_that_is_killed_in_the_middle(site: Site) -> None:
    """Protects standing by: rooms are joined at once, and a peer killed with -9 comes back to what it still owes."""
    ada = site.key("ada")
    # The opener's own peer finds its rooms as everybody does.
    others = [site.stand("ada", script()), site.stand("cat", script(), "--accept", ada)]
    killed = site.stand("ben", site.held(ada))
    for peer in (*others, killed):
        peer.stands()
    members = {name: site.key(name) for name in ("ada", "ben", "cat")}
    rooms = {site.open("ada", scenario(slug, members)) for slug in ("first", "second")}
    until(lambda: site.asked(killed)["score"] == 2, "it thinks about its scores in both rooms")
    assert killed.end(signal.SIGKILL) == -signal.SIGKILL
    assert site.asked(killed) == {"propose": 2, "score": 2}
    again = site.stand("ben", site.held(ada)).stands()
    site.let_go()
    for peer in (*others, again):
        until(lambda peer=peer: set(peer.over) == rooms, "both rooms are over")
        assert set(peer.over.values()) == {"agreed"}
    assert site.asked(again) == {"score": 2, "ratify": 2}
    for room in rooms:
        site.entries(room, "cat", *members)
    for peer in (*others, again):
        assert peer.end() == 0
    assert not site.outboxes("ben")


def test_a_room_outside_the_bounds_is_declined_with_the_reason(site: Site) -> None:
    """Protects the peer's owner and the others' time: a no is said at once and in the room, not by being silent."""
    accepts = {"openers": [site.key("ada")], "min_step_seconds": 60}
    peer = site.stand("ben", script(accepts=accepts), "--once", kept=False).stands()
    members = {name: site.key(name) for name in ("ada", "ben")}
    room = site.open("ada", scenario("hasty", members, seconds=30))
    assert peer.process.wait(30) == 0
    assert peer.over == {room: "abandoned  declined: ben"}
    said = [e["body"] for e in site.entries(room, "ada", *members) if e["author"] == members["ben"]]
    assert [body["kind"] for body in said] == ["room.decline"]
    assert said[0]["because"] == "its steps have 30 s; this peer needs 60 s"


def test_what_is_no_good_invitation_is_ignored_with_a_line_and_a_good_one_joins_once(site: Site) -> None:
    """Protects against strangers and forgers: each is named once, none is followed, and the peer goes on."""
    ada, eve = site.key("ada"), site.key("eve")
    members = {"ada": ada, "ben": site.key("ben")}
    peer = site.stand("ben", script(accepts={"openers": [ada]})).stands()
    site.stand("ada", script()).stands()

    site.open("eve", scenario("strange", {"eve": eve, "ben": members["ben"]}))
    peer.says(f"ignored: an invitation by {eve}, who is no accepted opener")

    async def leave(payload: bytes) -> None:
        async with await JetStreamLog.connect(site.url, identity=site.identities["ada"]) as log:
            await log.invite(members["ben"], ada, payload)

    forged = sign_invitation(site.identities["eve"], room="small-" + "a" * 26, opener=ada)
    plain = json.loads(forged.line)
    plain["invitation"]["by"] = ada
    wrongly_signed = json.dumps(plain, separators=(",", ":")).encode()
    for payload, complaint in (
        (b"\xff{", "in canonical JSON"),
        (forged.line, "not by the key on whose subject it stands"),
        (wrongly_signed, "the signature is not its author's"),
    ):
        asyncio.run(leave(payload))
        assert len(peer.says(complaint)) == 1

    room = site.open("ada", scenario("good", members))
    again = sign_invitation(site.identities["ada"], room=room, opener=ada)
    asyncio.run(leave(again.line))
    until(lambda: room in peer.over, "the good room is over")
    asyncio.run(leave(again.line))
    elsewhere = site.open("ada", scenario("elsewhere", {"ada": ada, "eve": eve}, seconds=2))
    asyncio.run(leave(sign_invitation(site.identities["ada"], room=elsewhere, opener=ada).line))
    peer.says(f"ignored: {elsewhere}: it has no seat for this key")
    assert peer.over == {room: "agreed"}
    assert len(peer.says("taking part as ben")) == 1
    assert peer.end(signal.SIGINT) == 0
    assert not [line for line in peer.log if "Traceback" in line]


def test_a_peer_told_to_stop_in_the_middle_ends_in_order_and_takes_up_again(site: Site) -> None:
    """Protects restarts: SIGTERM ends with 0 while the mind still thinks, and the same command goes on to agree."""
    ada = site.key("ada")
    members = {"ada": ada, "ben": site.key("ben")}
    other, stopped = site.stand("ada", script(), "--once").stands(), site.stand("ben", site.held(ada)).stands()
    room = site.open("ada", scenario("paused", members))
    until(lambda: site.asked(stopped)["score"], "it thinks about its scores")
    assert stopped.end() == 0
    assert not stopped.over
    assert not [line for line in stopped.log if "has not come back" in line or "Traceback" in line]
    site.let_go()
    peer = site.stand("ben", site.held(ada), "--once")
    assert peer.process.wait(30) == 0
    assert peer.over == {room: "agreed"}
    assert site.asked(peer) == {"score": 1, "ratify": 1}
    assert other.process.wait(30) == 0
    site.entries(room, "ben", *members)


@pytest.mark.parametrize("command", ["peer", "open"])
def test_what_the_commands_cannot_use_is_one_message(site: Site, tmp_path: Path, command: str) -> None:
    """Protects users: bad input ends with 2 and a line that names the file and what is valid."""
    site.key("ada")
    path = tmp_path / "file.json"
    members = {"ada": site.key("ada"), "ben": "U" + "A" * 55}
    what = script(accepts={"openers": ["ada"]}) if command == "peer" else scenario("typo", members)
    path.write_text(json.dumps(what), encoding="utf-8")
    done = site.swarm(command, str(path), "--key", str(tmp_path / "ada.key"), "--server", site.url)
    assert (done.returncode, done.stdout) == (2, "")
    assert str(path) in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_guide_works_as_it_is_written(site: Site) -> None:
    """Protects whoever sets up a peer by docs/peers.md: its agent file and its scenario settle the room it opens."""
    guide = (Path(__file__).resolve().parents[3] / "docs" / "peers.md").read_text("utf-8")
    agent, room_file = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    ada, ben = site.key("ada"), site.key("ben")
    paths = {name: site.folder / name for name in ("agent.yaml", "pump.yaml")}
    paths["agent.yaml"].write_text(agent.replace("UADA…", ada), encoding="utf-8")
    paths["pump.yaml"].write_text(room_file.replace("UADA…", ada).replace("UBEN…", ben), encoding="utf-8")
    assert site.swarm("check", str(paths["agent.yaml"])).returncode == 0
    peers = [site.stand_by(name, paths["agent.yaml"], "--once") for name in ("ada", "ben")]
    for peer in peers:
        peer.stands()
    key = str(site.folder / "ada.key")
    done = site.swarm("open", str(paths["pump.yaml"]), "--key", key, "--server", site.url)
    assert done.returncode == 0, done.stderr
    (room, opener) = (line.split()[1] for line in done.stdout.splitlines())
    assert opener == ada
    for peer in peers:
        assert peer.process.wait(30) == 0
        assert peer.over == {room: "agreed"}
