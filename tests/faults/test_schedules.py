"""Seeded schedules of faults: however members die and the way to the log fails, a room ends, and all agree on how."""

from collections import Counter
from pathlib import Path

import pytest

from agents.scripted import Scripted
from agents.utility import UtilityMind
from swarm.auditing.auditing import audit
from swarm.testing.storm import GIVE_UP_S, Asked, Outcome, Storm, numbers
from swarm.testing.virtual import without_waiting

ENDINGS = {"agreed", "no_agreement", "abandoned"}
NEVER = {"equivocation", "chain_gap", "duplicate", "seen_mismatch", "bad_signature", "close_mismatch", "wrong_room"}
"""What no accident may lead to: each would be held against a member, or the broker."""


@pytest.fixture(autouse=True)
def _asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swarm.seat.asking.NEVER_WAIT", (Scripted, UtilityMind, Asked))


def judge(seed: int, folder: Path) -> Outcome:
    """Let the storm of *seed* pass, and hold it to what must be true whatever happened."""
    came = without_waiting(Storm(seed, folder).run())
    assert came.over, (seed, "not over after", came.seconds)
    assert came.outcome in ENDINGS, seed
    assert came.seconds < GIVE_UP_S, seed
    # All members, those that died included, read one log and one result out of it.
    assert len(set(came.heads.values())) == 1, seed
    assert all(result == came.results[""] for result in came.results.values()), seed
    # What was acknowledged is there, once; no author's numbers have a gap or a double.
    lost = [payload for payload in came.acknowledged if payload not in came.stored]
    assert lost == [], seed
    said = Counter(numbers(came.stored))
    assert max(said.values()) == 1, seed
    for author in {author for author, _ in said}:
        assert sorted(n for by, n in said if by == author) == list(range(1, sum(by == author for by, _ in said) + 1))
    assert not NEVER & set(came.findings), (seed, set(came.findings) & NEVER)
    # The auditor, with the ledger alone, comes to the same.
    assert came.ledger is not None
    found = audit(came.ledger, roster=came.keys)
    assert found.verdict in ("verified", "incomplete"), (seed, [f.text for f in found.findings])
    assert found.summary["outcome"] == came.outcome, seed
    assert found.summary["reason"] == came.reason, seed
    return came


def test_without_faults_the_room_agrees_and_everything_is_asked_once(tmp_path: Path) -> None:
    """Protects the harness itself: in calm weather nothing is lost, and the storm's room is one that can agree."""
    storm = next(s for s in (Storm(seed, tmp_path) for seed in range(1000)) if s.bad == 0)
    storm._live = lambda name, fate: storm._sit(name, storm.outboxes[name])  # type: ignore[method-assign]
    came = without_waiting(storm.run())
    assert came.outcome in ("agreed", "no_agreement")
    assert all(count == 1 for asked in came.asked.values() for count in asked.values())


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_schedules_of_faults(first: int, tmp_path: Path) -> None:
    """Protects the whole: one of three endings, one result for all, nothing lost or doubled, whatever dies when."""
    came = [judge(seed, tmp_path) for seed in range(first, first + 25)]
    assert sum(each.kills for each in came) > 5
    assert {each.outcome for each in came} & {"agreed"}


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_a_thousand_more(first: int, tmp_path: Path) -> None:
    """Protects the same as above, over a thousand schedules."""
    for seed in range(first, first + 100):
        judge(seed, tmp_path)
