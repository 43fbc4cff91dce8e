"""One key, two processes in one room: one of them stops and says why, nothing is forked, and the room goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from swarm.clock import utc_now
from swarm.errors import SecondProcess
from swarm.seat.outbox import FileOutbox, MemoryOutbox
from swarm.seat.speaker import Speaker
from tests.support.fault_rooms import codes, small, willing
from tests.support.fault_site import Site
from tests.support.patience import until
from tests.support.small_rooms import Sitting, go, member, room

BOTH = ("bob", "bob-too")


def stopped(site: Site) -> list[str]:
    says = "another process speaks with the key"
    return [place for place in BOTH if says in site.peers[place].log]


@pytest.mark.parametrize(
    "second", ["at once", "later", pytest.param("while the first is paused", marks=pytest.mark.long)]
)
def test_of_two_processes_one_stops_and_says_so(sites: Callable[..., Site], second: str) -> None:
    """Protects a member's chain: whoever started first, one of the two stops itself; the room agrees, unforked."""
    site = sites("ann", "bob")
    ann, first = site.stand("ann", willing("tue")), site.stand("bob", willing())
    if second == "at once":
        site.stand("bob", willing(), place="bob-too")
    for peer in site.peers.values():
        peer.stands()
    if second == "at once":
        opened = site.open(small("twice", "ann", "bob"))
    else:
        # Ann is away while the second one comes, so that it comes in the middle.
        ann.tended = False
        steps = [("seal", "concord.option.seal"), ("seal", "concord.ballot.1.seal")]
        for kind, step in steps:
            site.strike(by="ann", room="twice", kind=kind, step=step, moment="before", dies="peer")
        opened = site.open(small("twice", "ann", "bob"))
        until(lambda: ("bob", steps[0][1]) in site.asked(opened) and ann.process.code is not None, "ann is away")
        if second == "while the first is paused":
            first.process.pause()
        site.stand("bob", willing(), place="bob-too").says("taking part as bob")
        ann.start()
        until(lambda: site.struck() == 2 and ("bob", steps[1][1]) in site.asked(opened), "ann is away again")
        first.process.resume()
        until(lambda: stopped(site), "one of the two says that it stops")
        ann.start()
    until(lambda: opened in ann.over, "ann has seen the end")
    (one,) = until(lambda: stopped(site), "one of the two says that it stops")
    (other,) = set(BOTH) - {one}
    assert second != "while the first is paused" or one == "bob"
    assert until(lambda: site.peers[other].over, "the other one sees the end") == {opened: "agreed"}
    assert opened not in site.peers[one].over
    found = site.judged(opened, "ann")
    assert (found.verdict, found.summary["outcome"]) == ("verified", "agreed")
    assert not codes(found.findings) & {("equivocation", "bob"), ("silent", "bob"), ("late", "bob")}
    assert ann.over[opened] == "agreed"


def test_a_folder_is_for_one_process_and_free_again_after_kill_9(sites: Callable[..., Site]) -> None:
    """Protects restarts: a second process is refused in words, and what -9 leaves is taken up again at once."""
    site = sites("ann", "bob")
    site.stand("ann", willing())
    first = site.stand("bob", willing()).stands()
    refused = site.stand("bob", willing(), place="bob")
    assert refused.process.wait() == 2
    assert "a peer with this key runs in this directory already" in refused.log
    first.process.kill()
    assert refused.start().process.code is None
    until(lambda: refused.log.count(" stands at ") == 2, "it stands where the first one stood")
    opened = site.open(small("after", "ann", "bob"))
    assert set(site.until_over(opened).values()) == {"agreed"}


def test_processes_that_never_meet_at_one_number_are_noticed() -> None:
    """Protects a seat: an answer to a step that this process did not give stops it, before it says anything more."""

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        replica = await sitting.open()
        one = Speaker(sitting.opener, replica, MemoryOutbox(), utc_now, patience_s=5)
        other = Speaker(sitting.opener, await sitting.replica(), MemoryOutbox(), utc_now, patience_s=5)
        await one.say({"kind": "room.tick"})
        await other._replica.refresh()
        other.alone()  # What is no answer to a step may be said from outside.
        await one.say({"kind": "room.excuse", "step": "room.joining", "because": "away"})
        one.alone()
        await other._replica.refresh()
        with pytest.raises(SecondProcess):
            await other.say({"kind": "room.tick"})
        assert replica.fold.chain.position == 3

    go(work())


def test_what_was_kept_and_came_back_by_itself_is_ones_own(tmp_path: Path) -> None:
    """Protects a restart: an answer sent before it, and stored only after its reading, is no second process's."""

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        replica = await sitting.open()
        outbox = FileOutbox(tmp_path / "ann.outbox")
        restarted = Speaker(sitting.opener, replica, outbox, utc_now, patience_s=5)
        before = Speaker(sitting.opener, await sitting.replica(), outbox, utc_now, patience_s=5)
        await before.say({"kind": "room.excuse", "step": "room.joining", "because": "away"})
        await replica.refresh()
        await restarted.recover()
        restarted.alone()

    go(work())
