"""A member whose mind is a command, killed in the middle: the command alone, and the peer that asks it."""

import os
import signal
import sys
from collections import defaultdict
from typing import Any

from tests.support.patience import until
from tests.support.standing_site import HERE, Site, scenario, script


def commanded(site: Site, opener: str) -> dict[str, Any]:
    """Return an agent file, for rooms of *opener*, whose command scores nothing before `Site.let_go`."""
    held = [str(HERE / "held_command.py"), str(site.folder / "asked"), str(site.folder / "go")]
    return {"agent": "exec", "command": [sys.executable, *held], "accepts": {"openers": [opener]}}


def asked(site: Site) -> dict[int, list[str]]:
    """Return the acts that each process of the command was asked, in order."""
    path = site.folder / "asked"
    found: dict[int, list[str]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        process, act = line.split()
        found[int(process)].append(act)
    return dict(found)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def at_score(site: Site) -> int:
    """Wait until a command is asked for its scores; return its process."""
    return int(until(lambda: [pid for pid, acts in asked(site).items() if acts[-1] == "score"], "it is to score")[0])


def test_a_command_killed_in_the_middle_is_started_again_and_goes_on(site: Site) -> None:
    """Protects members whose program dies: only the open duty is asked again, of a fresh process, to agreement."""
    ada = site.key("ada")
    members = {"ada": ada, "ben": site.key("ben")}
    other, peer = site.stand("ada", script(), "--once"), site.stand("ben", commanded(site, ada), "--once").stands()
    room = site.open("ada", scenario("killed-mind", members, seconds=60))
    first = at_score(site)
    os.kill(first, signal.SIGKILL)
    until(lambda: [pid for pid in asked(site) if pid != first], "another process is asked")
    site.let_go()
    assert peer.process.wait(60) == 0
    assert peer.over == {room: "agreed"}
    (second,) = (pid for pid in asked(site) if pid != first)
    assert asked(site) == {first: ["propose", "score"], second: ["score", "ratify"]}
    assert other.process.wait(30) == 0
    entries = site.entries(room, "ben", *members)
    # A call that was cut off was never answered, and is declared by nobody.
    assert [e["cost"]["calls"] for e in entries if e["author"] == members["ben"] and "cost" in e] == [1, 1, 1]


def test_a_peer_killed_while_its_command_thinks_takes_up_again_where_it_was(site: Site) -> None:
    """Protects restarts after kill -9: its command ends with it, and only what is still owed is asked again."""
    ada = site.key("ada")
    members = {"ada": ada, "ben": site.key("ben")}
    other, killed = site.stand("ada", script(), "--once"), site.stand("ben", commanded(site, ada)).stands()
    room = site.open("ada", scenario("killed-peer", members, seconds=60))
    first = at_score(site)
    assert killed.end(signal.SIGKILL) == -signal.SIGKILL
    until(lambda: not runs(first), "its command has ended too")
    site.let_go()
    peer = site.stand("ben", commanded(site, ada), "--once")
    assert peer.process.wait(60) == 0
    assert peer.over == {room: "agreed"}
    (second,) = (pid for pid in asked(site) if pid != first)
    assert asked(site) == {first: ["propose", "score"], second: ["score", "ratify"]}
    assert other.process.wait(30) == 0
    site.entries(room, "ben", *members)
