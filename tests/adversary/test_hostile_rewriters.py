"""Members that write a room's ledger anew: what they leave out, date otherwise or cut is never verified.

Whatever a coalition signs again is its own; what the others said it can only take as it is, or leave out. One of them
at least is honest here, and its signatures are what is held against the file.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from protocols.core.canonical import canonical
from protocols.core.instants import format_instant
from swarm.auditing.auditing import AuditResult, audit
from swarm.auditing.comparing import compare
from swarm.auditing.promised import NOT_SHOWN
from swarm.errors import BadInput
from swarm.ledger.fold import Fold
from swarm.signed.checkpoint import Checkpoint, sign_checkpoint
from swarm.signed.identity import Identity
from tests.support.rewriting import (
    PEOPLE,
    Deal,
    Rewriting,
    coalitions,
    common,
    prefix_of,
    random_deal,
    random_rewriting,
    rewrite,
    written,
)
from tests.support.signed_rooms import OUTSIDER, SECOND, Table
from tests.vectors.wire import verifier

Audited = Callable[..., AuditResult]


def deal(*names: str) -> tuple[Deal, int]:
    """A room where bob promised paper to ann, reports it, ann confirms, and all go on; and where the report stands."""
    room = Deal(*names, promises={"paper": ("bob", "ann", True)}).settle()
    room.report("bob", "paper")
    at = len(room.log)
    room.confirm("ann", "paper")
    for name in names:
        room.say(name)
    room.later(25)
    for name in names:
        room.say(name)
    return room, at


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    """Write a log as its exporter would hand it over, and audit it against the true roster."""

    def audited(true: Table, fold: Fold, exporter: Identity | None, **options: Any) -> AuditResult:
        return audit(written(tmp_path / "handed", fold, exporter), **{"roster": true.roster, **options})

    return audited


def receipt(path: Path, checkpoint: Checkpoint) -> Path:
    path.write_bytes(canonical(checkpoint.plain()) + b"\n")
    return path


# -- out of the middle ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "coalition"),
    [
        (("ann", "bob"), ("ann",)),
        (PEOPLE, ("ann", "cyd")),
        (PEOPLE, ("ann", "cyd", "dan")),
    ],
    ids=["two members", "half of a room", "three against one"],
)
def test_a_report_taken_out_of_the_middle_is_contested(
    names: Sequence[str], coalition: Sequence[str], audited: Audited
) -> None:
    """A creditor takes a report and its own confirmation out, and signs again what is its own: bob's words deny it."""
    true, at = deal(*names)
    assert audited(true, true.fold, true.identities["ann"]).promises["paper"].state == "satisfied"
    forged = rewrite(true, Rewriting(coalition, {at, at + 1}, ticks=[(name, 1) for name in coalition]))
    assert forged.room.tracker is not None and forged.room.tracker.status("paper").state == "violated"
    result = audited(true, forged, true.identities["ann"])
    assert (result.verdict, result.exit_code()) == ("contested", 3)
    assert {each["member"] for each in result.contested} == {*names} - {*coalition}
    assert min(each["position"] for each in result.contested) == result.stands + 1 <= at
    assert "missing" in {finding["code"] for finding in result.findings}
    # What stands is shown, and nothing that comes after: the promise is owed, the result signed.
    assert (result.summary["outcome"], result.promises["paper"].state) == ("open", "detached")
    assert all("own ledger or receipt would settle it" in each["text"] for each in result.contested)


def test_a_record_stored_at_another_time_is_contested(audited: Audited) -> None:
    """The broker and the creditor date a report behind its window: its author has signed the time."""
    true, at = deal("ann", "bob")
    for moved in ({at: 21 * SECOND, at + 1: 21 * SECOND}, {at: 1}):
        result = audited(true, rewrite(true, Rewriting(("ann",), moved=moved)), None)
        assert (result.verdict, [each["member"] for each in result.contested]) == ("contested", ["bob"])
        assert "redated" in {finding["code"] for finding in result.findings}


def test_one_liar_and_three_that_collude_look_the_same(audited: Audited) -> None:
    """Neither is verified, both are told in one sentence: what is in the file cannot say who lies."""
    true, at = deal(*PEOPLE)
    three = audited(true, rewrite(true, Rewriting(("ann", "cyd", "dan"), {at, at + 1})), true.identities["ann"])
    honest, _ = deal(*PEOPLE)
    honest.say("bob", seen=(honest.fold.chain.position, "0" * 64))
    one = audited(honest, honest.fold, honest.identities["ann"])
    for result in (three, one):
        assert (result.verdict, [each["member"] for each in result.contested]) == ("contested", ["bob"])
    assert one.summary["commitments"] == {"paper": "satisfied"} and one.complete


def test_an_authors_gap_contradicts_a_log_unless_it_signs_that_log_later(audited: Audited) -> None:
    """An ``n`` or a ``prev`` of another log counts like another head: whoever goes on in this log takes it back."""
    for odd in ({"n": 9}, {"prev": "0" * 64}):
        true, _ = deal("ann", "bob")
        true.say("bob", **odd)
        assert [each["member"] for each in audited(true, true.fold, true.identities["ann"]).contested] == ["bob"]
        true.say("bob")
        assert audited(true, true.fold, true.identities["ann"]).verdict == "verified"


def test_a_fork_of_ones_own_is_no_doubt_about_a_log_that_its_author_signs(audited: Audited) -> None:
    """Two entries under one number are proof against their author; the log is in doubt while it has signed neither."""
    for seen_first, verdict in ((False, "contested"), (True, "verified")):
        true, _ = deal("ann", "bob")
        first, second = true.sign("bob"), true.sign("bob", {"kind": "room.leave", "because": "no"})
        true.store(first.author, first.payload)
        if seen_first:
            chain = true.fold.chain
            second = true.sign("bob", second.body, n=first.n, prev=first.prev, seen=(chain.position, chain.head))
        true.store(second.author, second.payload)
        assert audited(true, true.fold, true.identities["ann"]).verdict == verdict


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exporter", ["the creditor", "a throw-away key"])
def test_an_end_cut_by_the_creditor_rests_on_its_word_alone(exporter: str, audited: Audited) -> None:
    """It cuts a report and its own confirmation, ticks past the deadline and signs the rest: nothing is shown."""
    true, at = deal("ann", "bob", "cyd")
    forged = rewrite(true, Rewriting(("ann",), cut=at - 1, ticks=[("ann", 25), ("ann", 0)]))
    key = true.identities["ann"] if exporter == "the creditor" else OUTSIDER
    result = audited(true, forged, key)
    assert result.exporter is not None
    assert (result.exporter.key, result.exporter.member) == (key.public, "ann" if key is not OUTSIDER else None)
    paper = result.plain()["commitments"]["paper"]
    assert (paper["state"], paper["covered"], paper["word"]) == ("violated", False, None)
    assert result.covered_to < at and result.exit_code(strict=True) == 3
    assert "uncovered" in {finding["code"] for finding in result.findings}
    (told,) = [finding for finding in result.findings if finding["code"] == "violated"]
    # Bob speaks beyond the cover too: behind a key of nobody, no member is named.
    assert (result.alone == "ann") == (key is not OUTSIDER)
    assert told["text"].endswith(f"by the word of {result.alone} alone")
    # As of an instant that nobody but ann has signed to have come, no breach is asserted.
    late = format_instant(true.now + 3600 * SECOND)
    later = audited(true, forged, key, as_of=late)
    assert later.promises["paper"].state == later.summary["commitments"]["paper"] == NOT_SHOWN
    assert "violated" not in {f["code"] for f in later.findings} and later.exit_code(strict=True) == 3
    # Nor of a ledger that simply ends before.
    short = audited(true, prefix_of(true, at - 1), key, as_of=late)
    assert short.promises["paper"].state == NOT_SHOWN and short.unmet == []


def test_the_verb_says_whose_word_it_is(tmp_path: Path, swarm: Callable[..., Any]) -> None:
    """A reader of the text sees who exported, how far each signed, and what rests on one word."""
    true, at = deal("ann", "bob")
    roster = tmp_path / "roster.json"
    roster.write_text(json.dumps(true.roster))
    ledger = written(tmp_path / "x", rewrite(true, Rewriting(("ann",), cut=at - 1, ticks=[("ann", 25)] * 2)), OUTSIDER)
    done = swarm("audit", str(ledger), "--roster", str(roster))
    assert (
        done.code == 0
        and "paper: violated, by the word of its exporter" in done.out
        and "not a member; signed by" in done.out
    )
    late = ("--as-of", format_instant(true.now + 3600 * SECOND))
    assert f"paper: {NOT_SHOWN}\n" in swarm("audit", str(ledger), "--roster", str(roster), *late).out
    assert swarm("audit", str(ledger), "--roster", str(roster), "--strict").code == 3
    forged = written(tmp_path / "y", rewrite(true, Rewriting(("ann",), {at, at + 1})), true.identities["ann"])
    done = swarm("audit", str(forged), "--roster", str(roster))
    assert done.code == 3 and "CONTESTED" in done.out and "bob signed another log" in done.out
    assert "  stands   records 1 to " in done.out


def test_not_held_an_end_cut_by_all_who_sign_after_it_looks_like_the_others_silence(
    audited: Audited, tmp_path: Path
) -> None:
    """The one case that a file cannot tell: the victim's own receipt does, and so does its ledger."""
    true, at = deal("ann", "bob", "cyd")
    forged = rewrite(true, Rewriting(("ann", "cyd"), cut=at - 1, ticks=[("ann", 25), ("cyd", 0), ("ann", 0)]))
    alone = audited(true, forged, true.identities["ann"])
    assert (alone.verdict, alone.promises["paper"].state, alone.promises["paper"].covered) == (
        "verified",
        "violated",
        True,
    )
    assert alone.signed["bob"] < at  # The one trace of it: how far bob has signed.
    told = audited(true, forged, true.identities["ann"], receipts=[receipt(tmp_path / "r", true.receipt("bob"))])
    assert (told.verdict, told.contested[0]["member"]) == ("contested", "bob")
    own = audit(true.write(tmp_path / "own", exporter=true.identities["bob"]), roster=true.roster)
    (comparison,) = compare([alone, own])
    assert comparison.forks[0].position == at


# -- receipts ---------------------------------------------------------------------------------------------------------


def test_a_receipt_by_no_member_is_bad_input(audited: Audited, tmp_path: Path) -> None:
    """A key that is not in the room can say nothing of it, neither for nor against."""
    true, _ = deal("ann", "bob")
    chain = true.fold.chain
    for head in (chain.head, "0" * 64):
        strange = receipt(tmp_path / "r", sign_checkpoint(OUTSIDER, room=true.room, count=chain.position, head=head))
        with pytest.raises(BadInput, match="not a member of this room"):
            audited(true, true.fold, None, receipts=[strange])


def test_a_receipt_is_judged_like_an_entry_of_its_author(audited: Audited, tmp_path: Path) -> None:
    """What it belies of its own author's words in the file is that member's fault, and no fault of the log."""
    true, at = deal("ann", "bob")
    room, key = true.room, true.identities["bob"]
    early = receipt(tmp_path / "early", sign_checkpoint(key, room=room, count=at, head="0" * 64))
    result = audited(true, true.fold, true.identities["ann"], receipts=[early])
    assert result.verdict == "verified"
    assert [(f["who"], f["position"]) for f in result.findings if f["code"] == "two_histories"] == [("bob", at)]
    last = len(true.log)
    for count in (last, last + 5):
        late = receipt(tmp_path / "late", sign_checkpoint(key, room=room, count=count, head="0" * 64))
        result = audited(true, true.fold, true.identities["ann"], receipts=[late])
        assert (result.verdict, result.contested[0]["member"]) == ("contested", "bob")
        assert "its receipt" in result.contested[0]["text"]


# -- rosters, and the clock -------------------------------------------------------------------------------------------


def test_a_roster_says_until_when_a_key_holds_and_which_it_replaced(audited: Audited) -> None:
    """What is said under a key after its time, or under one that was replaced, is not pinned, and not failed either."""
    true, _ = deal("ann", "bob")
    bob, last = true.roster["bob"], format_instant(true.now)

    def pinned(pin: Any) -> tuple[str, list[int]]:
        result = audited(true, true.fold, None, roster={**true.roster, "bob": pin})
        return result.verdict, [f["position"] for f in result.findings if f["code"] == "not_pinned"]

    assert pinned({"key": bob}) == pinned({"key": bob, "until": last}) == ("verified", [])
    assert pinned({"key": bob, "replaces": OUTSIDER.public}) == ("verified", [])
    verdict, where = pinned({"key": bob, "until": format_instant(true.now - 10 * SECOND)})
    assert verdict == "incomplete" and where == [len(true.log)]
    first = next(r.position for r in true.fold.records if r.author == bob)
    assert pinned({"key": OUTSIDER.public, "replaces": bob}) == ("incomplete", [first])
    assert pinned({"key": OUTSIDER.public, "until": last})[0] == "failed"
    for bad in (
        {"key": bob, "until": "soon"},
        {"key": bob, "until": last, "replaces": OUTSIDER.public},
        {"until": last},
        {"key": bob, "replaces": bob},
        {"key": bob, "since": last},
    ):
        with pytest.raises(BadInput, match="roster: bob: "):
            pinned(bad)


def test_records_dated_after_the_auditors_clock_are_noted(audited: Audited) -> None:
    """Whoever audits knows what time it is: a ledger from tomorrow says so, and is judged all the same."""
    true, at = deal("ann", "bob")
    result = audited(true, true.fold, None, clock=lambda: true.fold.records[at - 2].stored)
    assert [f["position"] for f in result.findings if f["code"] == "dated_ahead"] == [at]
    assert result.verdict == "verified"
    assert "dated_ahead" not in {f["code"] for f in audited(true, true.fold, None, clock=lambda: true.now).findings}


# -- whatever they choose ---------------------------------------------------------------------------------------------


def states(fold: Fold) -> dict[str, tuple[str, int | None]]:
    assert fold.room.tracker is not None
    return {name: (status.state, status.since) for name, status in fold.room.tracker.statuses().items()}


def check_rewriting(true: Deal, how: Rewriting, folder: Path) -> str:
    """Assert what is promised of one rewritten ledger; return how it came out."""
    forged = rewrite(true, how)
    shared = common(true, forged)
    path = written(folder / "forged", forged, how.exporter)
    result = audit(path, roster=true.roster)
    victims = [name for name in true.names if name not in how.coalition]
    # An honest member's signature stands under what it saw, and under nothing else.
    assert all(result.signed.get(name, 0) <= shared for name in victims)
    outside = verifier.check_ledger(path.read_bytes(), true.roster)
    assert outside["contested"] == {each["member"]: each["position"] for each in result.contested}
    assert outside["covered_to"] == result.covered_to
    if result.verdict != "verified":
        assert result.exit_code() != 0
        return result.verdict
    assert forged.room.closing is not None and true.fold.room.closing is not None
    assert forged.room.closing.digest == true.fold.room.closing.digest
    seen = states(prefix_of(true, min(shared, result.covered_to)))
    told = {name for name, each in result.promises.items() if each.covered and seen[name] != (each.state, each.since)}
    assert result.exit_code(strict=True) == 3 or not result.uncovered
    if not told or shared == len(true.log):
        return "verified"  # The true log, as far as it goes: what members say after it is part of it.
    # It differs, and is covered: then all who sign after the cut collude, and each of the others can show it.
    assert len(how.coalition) > 1 and result.covered_to > shared
    assert {name for name, count in result.signed.items() if count > shared} <= {*how.coalition}
    for name in victims:
        held = [receipt(folder / "receipt", true.receipt(name))]
        assert audit(path, roster=true.roster, receipts=held).verdict == "contested"
    own = audit(true.write(folder / "own", exporter=true.identities[victims[0]]), roster=true.roster)
    assert compare([result, own])[0].forks
    return "an end that nobody else signed"


def check_rooms(seeds: range, folder: Path) -> dict[str, int]:
    """Check what every coalition may do to each of some rooms; return how often it came out how."""
    found: dict[str, int] = {}
    for seed in seeds:
        random = Random(seed)
        true = random_deal(random, random.choice((2, 2, 3, 4)))
        assert audit(true.write(folder / "true"), roster=true.roster).verdict == "verified"
        for coalition in coalitions(true.names):
            came_to = check_rewriting(true, random_rewriting(random, true, coalition), folder)
            found[came_to] = found.get(came_to, 0) + 1
    return found


def test_no_coalition_gets_a_ledger_verified_that_differs(tmp_path: Path) -> None:
    """Rooms of two to four, every coalition that leaves one out, records removed, re-dated or cut.

    What is verified is true as far as it is covered; the one exception is the test above, told by any victim.
    """
    found = check_rooms(range(12), tmp_path)
    assert found["contested"] > 20 and found["verified"] > 5


@pytest.mark.long
def test_no_coalition_gets_any_of_many_ledgers_verified_that_differs(tmp_path: Path) -> None:
    """The same of a thousand rooms."""
    found = check_rooms(range(1_000, 2_000), tmp_path)
    assert found["contested"] > 1_000 and found["an end that nobody else signed"] > 10
