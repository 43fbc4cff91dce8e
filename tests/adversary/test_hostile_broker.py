"""A broker that lies to one or all of its members: nobody agrees to what it made up, and each lie has its own mark.

Every member follows and speaks with its real code; only what the broker shows is false. What one member's ledger shows
is judged by the audit, alone and beside what the others signed.
"""

from pathlib import Path

import pytest

from protocols.core.canonical import digest
from swarm.auditing.auditing import AuditResult, audit
from swarm.auditing.comparing import compare
from swarm.errors import BadEntry
from swarm.ledger.file import FileRecord, LedgerReader, write_ledger
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import parse_entry, sign_entry
from swarm.signed.identity import Identity
from swarm.testing.virtual import NOON, SECOND
from tests.support.lying_logs import Lie, Party, Which, cut_before, instead, once, redated, swapped, without

DAY = 86_400 * SECOND
SEAL, REVEAL = "concord.ballot.1.seal", "concord.ballot.1.reveal"
ALL = ("ann", "bob", "cyd")

CONTRADICTED = {"checkpoint_mismatch", "rolled_back"}
"""What a receipt shows that is not of this log: of another one, or of more than it."""


def codes(result: AuditResult) -> set[str]:
    return {finding["code"] for finding in result.findings}


def nobody_is_fooled(party: Party) -> None:
    """Those who agreed agreed to one and the same, and nobody's part ended in a fault of ours."""
    assert set(party.ended.values()) <= {"agreed", "no_agreement", "abandoned", "RolledBack", "ClockApart"}
    chosen = {party.fold(name).room.concord.standing for name, how in party.ended.items() if how == "agreed"}
    assert len(chosen) <= 1


def test_without_a_lie_all_agree_and_every_ledger_verifies(tmp_path: Path) -> None:
    """What the attacks below change is in order as long as nobody attacks."""
    party = Party().sit()
    assert set(party.ended.values()) == {"agreed"}
    for name in ALL:
        result = party.audit(name, tmp_path, receipts=ALL)
        assert (result.verdict, party.fold(name).room.findings) == ("verified", [])


# -- dropping and withholding -----------------------------------------------------------------------------------------


def test_a_record_dropped_for_one_shows_on_both_sides(tmp_path: Path) -> None:
    """The one misses a link of its author's chain; the others see that it signs another log; nothing is agreed."""
    party = Party()
    party.lie_to("cyd", lie=without(party.said("bob", "seal", SEAL)))
    nobody_is_fooled(party.sit())
    assert set(party.ended.values()) == {"no_agreement"}
    assert party.blamed("cyd", "chain_gap") == {"bob"}
    assert party.blamed("ann", "seen_mismatch") == party.blamed("bob", "seen_mismatch") == {"cyd"}
    assert party.audit("cyd", tmp_path).verdict == "contested"
    assert CONTRADICTED & codes(party.audit("ann", tmp_path, receipts=["cyd"]))


def test_a_record_dropped_for_all_stops_its_author(tmp_path: Path) -> None:
    """What is acknowledged and nobody gets is not held to be said: its author stops, the others name it silent."""
    party = Party()
    party.lie_to(*ALL, lie=without(party.said("bob", "seal", SEAL)))
    nobody_is_fooled(party.sit())
    assert party.ended == {"ann": "no_agreement", "bob": "RolledBack", "cyd": "no_agreement"}
    assert party.blamed("ann", "silent") == {"bob"}
    assert party.members["ann"].why == "no_quorum: bob (silent)"
    assert party.audit("ann", tmp_path).verdict == "incomplete"


def test_a_signature_withheld_from_one_makes_no_agreement_there(tmp_path: Path) -> None:
    """Who did not see all sign does not agree; its ledger contradicts those of the members who did."""
    party = Party()
    party.lie_to("ann", lie=without(party.said("bob", "concord.ratify")))
    nobody_is_fooled(party.sit())
    assert party.ended == {"ann": "no_agreement", "bob": "agreed", "cyd": "agreed"}
    assert party.members["ann"].why == "silent: bob"
    assert party.blamed("ann", "chain_gap") == {"bob"}
    assert party.audit("ann", tmp_path).verdict == "contested"
    assert not party.audit("bob", tmp_path, receipts=["ann"]).complete


def test_the_very_last_entry_withheld_from_one_is_said_to_be_uncovered(tmp_path: Path) -> None:
    """A shorter log contradicts nothing by itself: the audit says how far others cover it, and a receipt tells."""
    party = Party()
    party.lie_to("cyd", lie=without(party.said("bob", "room.witness")))
    nobody_is_fooled(party.sit())
    assert set(party.ended.values()) == {"agreed"}
    assert party.blamed("cyd", "silent") == {"bob"}
    alone = party.audit("cyd", tmp_path)
    assert alone.verdict == "verified" and "uncovered" in codes(alone) and alone.covered_to < alone.entries
    for other in ("ann", "bob"):
        beside = party.audit("cyd", tmp_path, receipts=[other])
        assert beside.verdict == "contested" and CONTRADICTED & codes(beside)


# -- order and time ---------------------------------------------------------------------------------------------------


def test_two_records_reordered_for_one_show_on_both_sides(tmp_path: Path) -> None:
    """The same records in another order are another log: each side refuses what the other signs from there on."""
    party = Party()
    party.lie_to("cyd", lie=swapped(party.said("ann", "seal", SEAL)))
    nobody_is_fooled(party.sit())
    assert set(party.ended.values()) == {"no_agreement"}
    assert party.blamed("ann", "seen_mismatch") == {"cyd"}
    assert party.blamed("cyd", "seen_mismatch") == {"ann", "bob"}
    assert party.audit("cyd", tmp_path).verdict == "contested"
    assert CONTRADICTED & codes(party.audit("bob", tmp_path, receipts=["cyd"]))


@pytest.mark.parametrize("by", [1, -1, 30 * SECOND, -30 * SECOND])
def test_a_record_redated_for_one_shows_on_both_sides(by: int, tmp_path: Path) -> None:
    """Times are signed with the order: a microsecond is another log."""
    party = Party()
    party.lie_to("cyd", lie=redated(party.said("ann", "seal", SEAL), by))
    nobody_is_fooled(party.sit())
    assert "agreed" not in party.ended.values()
    assert party.blamed("ann", "seen_mismatch") == {"cyd"}
    assert party.audit("cyd", tmp_path).verdict == "contested"


@pytest.mark.parametrize("by", [DAY, -DAY, 61 * SECOND])
def test_a_broker_a_day_off_moves_nothing(by: int, tmp_path: Path) -> None:
    """What it dates beyond the skew counts for nothing, the log's time stands, and every member stops by itself."""
    party = Party()
    party.store.date = lambda at: at + (by if len(party.store.records(party.room)) > 4 else 0)
    if by < 0:
        # The store holds its clock at its highest; a broker need not.
        party.store.date = lambda at: at
        late = [*party.scenario.names]
        party.lie_to(*late, lie=lambda records: redated(lambda r: r.sequence > 5, by)(records))
    nobody_is_fooled(party.sit())
    assert set(party.ended.values()) == {"ClockApart"}
    for name in ALL:
        room = party.fold(name).room
        assert room.at - NOON < 10 * SECOND
        assert {f.code for f in room.findings} == {"clock_disputed"} and room.ending is None
        assert party.audit(name, tmp_path).verdict == "incomplete"


def test_a_broker_a_day_off_from_the_beginning_opens_no_room() -> None:
    """An opening that is not fresh is none."""
    party = Party()
    party.store.date = lambda at: at + DAY
    with pytest.raises(BadEntry) as refused:
        party.sit()
    assert refused.value.code == "clock_disputed"


def test_a_frozen_clock_delays_nobody_who_answers(tmp_path: Path) -> None:
    """Where all answer no deadline is needed: the room ends as it would have."""
    party = Party()
    party.store.date = lambda at: NOON
    party.sit()
    assert set(party.ended.values()) == {"agreed"}
    assert party.audit("ann", tmp_path, receipts=ALL).verdict == "verified"


def test_a_frozen_clock_holds_nobody_for_ever() -> None:
    """Where one is missing the log's time never passes the deadline: the others say so, and stop."""
    party = Party(absent=["cyd"])
    party.store.date = lambda at: NOON
    nobody_is_fooled(party.sit())
    assert party.ended == {"ann": "ClockApart", "bob": "ClockApart"}
    assert "deadline that the log's time does not reach" in party.members["ann"].why


def test_not_held_within_the_skew_a_broker_can_make_a_member_late(tmp_path: Path) -> None:
    """A jump below the skew closes a step early (docs/security.md): that makes an absence, never a value."""
    party = Party(skew_seconds=60)
    seals = [party.said(name, "seal", SEAL) for name in ALL]
    party.store.date = lambda at: (
        at + (50 * SECOND if sum(any(s(r) for s in seals) for r in party.store.records(party.room)) else 0)
    )
    nobody_is_fooled(party.sit())
    assert set(party.ended.values()) == {"no_agreement"}
    assert "silent" in {finding.code for finding in party.fold("ann").room.findings}
    # With a skew below the step there is nothing to jump over.
    held = Party(skew_seconds=2)
    held.store.date = lambda at: at + 2 * SECOND
    assert set(held.sit().ended.values()) == {"agreed"}


# -- twice, twofold, and back -----------------------------------------------------------------------------------------


def test_everything_stored_twice_changes_nothing(tmp_path: Path) -> None:
    """The second time is noted as such and without effect."""
    party = Party()
    party.store.twice = True
    party.sit()
    assert set(party.ended.values()) == {"agreed"}
    for name in ALL:
        fold = party.fold(name)
        assert {f.code for f in fold.room.findings} == {"duplicate"}
        assert len(party.findings(name, "duplicate")) == fold.chain.position // 2
        assert party.audit(name, tmp_path, receipts=ALL).verdict == "verified"


def test_a_forked_room_agrees_on_neither_side(tmp_path: Path) -> None:
    """Two halves that are shown only their own words cannot be one room again, nor agree without each other."""
    party = Party()
    apart = party.said("cyd", "seal", SEAL)
    beyond = 4 + 6
    party.lie_to("ann", "bob", lie=once(apart, without(lambda r: r.author == party.key("cyd") and r.sequence > beyond)))
    party.lie_to("cyd", lie=once(apart, without(lambda r: r.author != party.key("cyd") and r.sequence > beyond)))
    nobody_is_fooled(party.sit())
    assert set(party.ended.values()) == {"no_agreement"}
    assert party.blamed("ann", "silent") == {"cyd"} and party.blamed("cyd", "silent") == {"ann", "bob"}
    for one, other in (("ann", "cyd"), ("cyd", "ann")):
        assert party.audit(one, tmp_path).verdict == "incomplete"
        assert CONTRADICTED & codes(party.audit(one, tmp_path, receipts=[other]))
    assert party.audit("ann", tmp_path, receipts=["bob"]).verdict == "incomplete"
    (comparison,) = compare(party.audit(name, tmp_path) for name in ALL)
    assert [(f.code, f.position) for f in comparison.findings] == [("fork", 11)]


def test_two_ballots_to_two_members_are_two_signatures(tmp_path: Path) -> None:
    """With the broker's help a member shows two seals under one number; each side keeps one, and both are signed."""
    party = Party()

    def second() -> bytes | None:
        mine = next((r for r in party.store.records(party.room) if party.said("cyd", "seal", SEAL)(r)), None)
        if mine is None:
            return None
        said = parse_entry(mine.payload)
        body = {**said.body, "digest": digest("another ballot")}
        seen = (said.seen_count, said.seen_head)
        again = sign_entry(
            party.members["cyd"].identity,
            room=said.room, n=said.n, prev=said.prev, seen=seen, sent=said.sent, body=body,
        )  # fmt: skip
        return again.payload

    party.lie_to("bob", lie=instead(party.said("cyd", "seal", SEAL), second))
    nobody_is_fooled(party.sit())
    assert "agreed" not in party.ended.values()
    assert party.blamed("ann", "seen_mismatch") == {"bob"}
    assert CONTRADICTED & codes(party.audit("ann", tmp_path, receipts=["bob"]))
    shown = [
        {parse_entry(r.payload).id for r in LedgerReader(party.export(name, tmp_path)) if _numbered(r, party, "cyd", 4)}
        for name in ("ann", "bob")
    ]
    assert [len(ids) for ids in shown] == [1, 1] and shown[0] != shown[1]
    (comparison,) = compare(party.audit(name, tmp_path) for name in ("ann", "bob"))
    assert comparison.findings[0].code == "fork"
    # Brought together on one log the two are an equivocation: the first stands, both are kept.
    fold = _replayed(party, lambda records: records)
    twin = second()
    assert twin is not None
    fold.add(_stored_after(fold, party.key("cyd"), twin))
    assert fold.room.findings[-1].code == "equivocation"


def test_a_log_rolled_back_stops_everybody(tmp_path: Path) -> None:
    """Nobody goes on over a log that has lost what it gave or acknowledged; what each keeps still holds."""
    party = Party()
    start = party.said("ann", "reveal", "concord.option.reveal")
    party.lie_to(*ALL, lie=once(party.said("cyd", "reveal", REVEAL), cut_before(start)))
    nobody_is_fooled(party.sit())
    assert set(party.ended.values()) == {"RolledBack"}
    assert all("is gone" in member.why for member in party.members.values())
    assert party.audit("ann", tmp_path, receipts=["bob"]).verdict == "incomplete"


def test_what_a_broker_puts_in_is_nobodys_word(tmp_path: Path) -> None:
    """Forged, borrowed and senseless records on members' subjects are kept as what they are, and all agree."""
    party = Party()
    forger = Identity.new()

    def put() -> None:
        if len(party.store.records(party.room)) != 2:
            return
        first = party.store.records(party.room)[0]
        seen = (1, "0" * 64)
        mine = sign_entry(
            forger, room=party.room, n=1, prev=None, seen=seen, sent=NOON, body={"kind": "room.leave", "because": "x"}
        ).payload
        party.store.put(party.room, party.key("bob"), mine.replace(forger.public.encode(), party.key("bob").encode()))
        party.store.put(party.room, party.key("bob"), mine)
        party.store.put(party.room, party.key("bob"), first.payload)
        party.store.put(party.room, party.key("cyd"), b"[" * 10_000)

    party.store.meddle = put
    party.sit()
    assert set(party.ended.values()) == {"agreed"}
    for name in ALL:
        assert [(f.code, f.who) for f in party.fold(name).room.findings] == [
            ("bad_signature", "bob"),
            ("too_deep", "cyd"),
        ]
        assert party.audit(name, tmp_path, receipts=ALL).verdict == "verified"


# -- what a broker hands to an auditor --------------------------------------------------------------------------------


def _replayed(party: Party, lie: Lie) -> Fold:
    first, *rest = lie(party.store.records(party.room))
    fold = Fold.open(first, party.room)
    for record in rest:
        fold.add(record)
    return fold


def _stored_after(fold: Fold, author: str, payload: bytes) -> Stored:
    return Stored(10**6, fold.chain.at, author, payload)


def _numbered(record: FileRecord, party: Party, name: str, n: int) -> bool:
    return record.author == party.key(name) and record.entry and parse_entry(record.payload).n == n


def _handed(party: Party, lie: Lie, path: Path) -> AuditResult:
    """Audit what a broker hands out: records of its choice under a fresh and fitting checkpoint of its own."""
    fold, broker = _replayed(party, lie), Identity.new()
    chain = fold.chain
    closing = sign_checkpoint(broker, room=party.room, count=chain.position, head=chain.head)
    write_ledger(path, party.room, fold.records, closing)
    return audit(path, roster=party.roster())


HANDED = {
    "drops": (lambda which: without(which), "missing"),
    "reorders": (lambda which: swapped(which), "reordered"),
    "re-dates": (lambda which: redated(which, -1), "redated"),
    "duplicates": (
        lambda which: lambda records: [each for r in records for each in ([r, r] if which(r) else [r])],
        "added",
    ),
}
"""What it does, and the code by which the audit tells it from the others."""


@pytest.mark.parametrize("name", HANDED)
def test_a_broker_that_changes_what_it_hands_out_is_contested(name: str, tmp_path: Path) -> None:
    """After the fact too: what members signed does not fit the log that it now shows, whatever it signs itself."""
    party = Party().sit()
    assert _handed(party, lambda records: records, tmp_path / "x").verdict == "verified"
    which: Which = party.said("bob", "seal", SEAL)
    result = _handed(party, HANDED[name][0](which), tmp_path / "x")
    assert result.verdict == "contested" and HANDED[name][1] in codes(result)


def test_a_broker_that_hands_out_less_is_not_complete(tmp_path: Path) -> None:
    """A log that ends early contradicts nobody, and is not shown to be all."""
    party = Party().sit()
    result = _handed(party, cut_before(party.said("ann", "room.close")), tmp_path / "x")
    assert (result.verdict, result.complete) == ("incomplete", False)
