"""On whose word a verdict rests: keys past their time, exporters that are nobody, what is owed, what was waived."""

from pathlib import Path

import pytest

from protocols.core.canonical import canonical
from protocols.core.instants import format_instant
from swarm.auditing.auditing import audit
from swarm.signed.checkpoint import sign_checkpoint
from tests.support.rewriting import TICK, Deal, Forged, Rewriting, rewrite, written
from tests.support.signed_rooms import SECOND, Table


def settled(*names: str) -> tuple[Deal, int]:
    """A deal in which bob reports and ann confirms, in time; with the position of the report."""
    room = Deal(*names, promises={"paper": ("bob", "ann", True)}).settle()
    room.report("bob", "paper")
    reported = len(room.log)
    room.confirm("ann", "paper")
    for name in names:
        room.say(name)
    room.later(25)
    for name in names:
        room.say(name)
    return room, reported


@pytest.mark.parametrize("way", ["receipt", "checkpoint", "dated back"])
def test_a_key_past_its_time_vouches_for_nothing(tmp_path: Path, way: str) -> None:
    """Protects whoever rotates a key: with the old one, nobody makes a breach look signed by its owner."""
    true, reported = settled("ann", "bob")
    until = format_instant(true.log[reported - 2].stored)
    roster = {**true.roster, "bob": {"key": true.key("bob"), "until": until}}
    receipts: list[Path] = []
    if way == "dated back":
        forged = Forged(true, {true.key(name): true.identities[name] for name in ("ann", "bob")})
        for stored in true.log[: reported - 1]:
            forged.take(stored, 0)
        forged.tick(true.identities["ann"], 25)
        then = true.log[reported - 2].stored
        forged._store(true.key("bob"), forged._sign(true.identities["bob"], TICK, then), then)
        ledger = written(tmp_path / "ledger", forged.fold, true.identities["ann"])
    else:
        fold = rewrite(true, Rewriting(("ann",), cut=reported - 1, ticks=[("ann", 25), ("ann", 0)]))
        ledger = written(tmp_path / "ledger", fold, true.identities["ann" if way == "receipt" else "bob"])
        if way == "receipt":
            chain, bob = fold.chain, true.identities["bob"]
            signed = sign_checkpoint(bob, room=true.room, count=chain.position, head=chain.head)
            receipts = [tmp_path / "receipt"]
            receipts[0].write_bytes(canonical(signed.plain()) + b"\n")
    result = audit(ledger, roster=roster, receipts=receipts)
    assert (result.verdict, result.exit_code()) == ("incomplete", 3)
    assert [f["who"] for f in result.findings if f["code"] == "not_pinned"] == ["bob"]


def test_a_throw_away_exporter_does_not_lend_the_victims_name(tmp_path: Path) -> None:
    """Protects the debtor: a breach that the creditor made by cutting is not told as the debtor's own word."""
    true, reported = settled("ann", "bob")
    forged = Forged(true, {true.key("ann"): true.identities["ann"]})
    for stored in true.log[: reported - 1]:
        forged.take(stored, 0)
    forged.tick(true.identities["ann"], 25)
    result = audit(written(tmp_path / "ledger", forged.fold, None), roster=true.roster)
    assert result.promises["paper"].state == "violated"
    assert not result.promises["paper"].covered and result.exit_code(strict=True) == 3
    assert "exporter" in result.alone and "not a member" in result.alone
    assert not any(name in result.caveats["paper"] for name in ("ann", "bob"))


@pytest.mark.parametrize("exporter", ["ann", None])
def test_what_is_still_owed_by_one_word_is_not_covered(tmp_path: Path, exporter: str | None) -> None:
    """Protects the debtor of a promise without an end: the end of the watch is shown by two, or it is one's word."""
    made = [{"id": "paper", "debtor": "bob", "creditor": "ann", "then": "paper_done"}]
    true = Deal.__new__(Deal)
    events = {"paper_done": {"by": "bob", "confirmed_by": "ann"}}
    Table.__init__(true, "ann", "bob", opening={"events": events, "promises": made}, watch_seconds=600)
    true.reports = {}
    true.settle()
    true.say("ann")
    true.say("bob")
    true.report("bob", "paper")
    reported = len(true.log)
    true.confirm("ann", "paper")
    fold = rewrite(true, Rewriting(("ann",), cut=reported - 1, ticks=[("ann", 700), ("ann", 0)]))
    ledger = written(tmp_path / "ledger", fold, true.identities[exporter] if exporter else None)
    result = audit(ledger, roster=true.roster)
    assert not result.promises["paper"].owed_covered and result.exit_code(strict=True) == 3
    late = audit(ledger, roster=true.roster, as_of=format_instant(true.now + 36_000 * SECOND))
    assert not late.promises["paper"].unmet and late.exit_code(strict=True) == 3
