"""Seeded schedules of faults against real processes: the room ends in one of three ways, and all agree on how."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.fault_site import Site
from tests.support.patience import until
from tests.support.real_schedules import RealStorm

Sites = Callable[..., Site]


def judge(seed: int, sites: Sites) -> str:
    """Let the storm of *seed* pass, and hold it to what must be true whatever happened; return the outcome."""
    storm = RealStorm(seed, sites)
    site = storm.site
    room = storm.run()
    found = site.judged(room, storm.lasting)
    outcome, reason = found.summary["outcome"], found.summary["reason"]
    assert outcome in ("agreed", "no_agreement", "abandoned"), (seed, storm.told)
    ending = outcome if reason is None else f"{outcome}  {reason}"

    def done(place: str) -> bool:
        """Whether a peer has told the end, found it when it came back, or stopped in the room with its reason."""
        peer = site.peers[place]
        box = peer.folder / site.keys[peer.name]
        stopped = f"{room}: this peer stops there" in peer.log or f"ignored: {room}" in peer.log
        return room in peer.over or stopped or not list(box.glob("*.outbox"))

    for place, peer in site.peers.items():
        if peer.process.code is None:
            until(lambda place=place: done(place), f"{place} has done with the room (seed {seed}, {storm.told})")
            assert "Traceback" not in peer.log, (seed, place)
    told = {place: peer.over[room] for place, peer in site.peers.items() if room in peer.over}
    assert set(told.values()) <= {ending}, (seed, told, ending)
    return str(outcome)


def test_schedules_of_faults_on_real_processes(sites: Sites) -> None:
    """Protects the whole, with real signals and real servers: one of three endings, nothing lost or doubled."""
    with ThreadPoolExecutor(3) as pool:
        assert len(list(pool.map(lambda seed: judge(seed, sites), range(2)))) == 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 52))
def test_fifty_more(seed: int, sites: Sites) -> None:
    """Protects the same, over fifty schedules."""
    judge(seed, sites)
