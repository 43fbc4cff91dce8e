"""What the chain makes of each kind of record, and what lying members and brokers achieve."""

import copy
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.core.canonical import canonical
from protocols.core.instants import parse_instant
from protocols.views.summary import summary_of
from swarm.auditing.auditing import audit
from swarm.errors import BadEntry
from swarm.ledger.chain import HEAD_0, Digests
from swarm.ledger.file import LedgerReader
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.seat.opening import sign_opening
from swarm.signed.entry import parse_entry
from swarm.signed.sizes import MAX_PAYLOAD_BYTES
from tests.support.signed_rooms import (
    MILLISECOND,
    NOON,
    OUTSIDER,
    SECOND,
    Table,
    codes,
    names_record,
    replay,
    write_fold,
)


def with_field(table: Table, name: str, **fields) -> bytes:
    """Return a tick of *name* with fields of its envelope replaced or added after signing, in canonical form."""
    import json

    return canonical({**json.loads(table.sign(name).payload), **fields})


def escaped_twice(payload: bytes) -> bytes:
    return payload.replace(b'"kind":"room.tick"', b'"kind":"room.tick","k\\u0069nd":"room.leave"')


NOISE = {
    "garbage": (lambda t: b"\x00\xff\xfe", "not_json"),
    "empty": (lambda t: b"", "not_json"),
    "an array": (lambda t: b"[]", "bad_envelope"),
    "10,000 deep": (lambda t: b"[" * 10_000, "too_deep"),
    "10,000 deep and closed": (lambda t: b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "too_deep"),
    "33 deep": (lambda t: b"[" * 33 + b"]" * 33, "too_deep"),
    "5,000 digits": (lambda t: b'{"v":' + b"9" * 5_000 + b"}", "not_canonical"),
    "2^53": (lambda t: t.sign("bob").payload.replace(b'"v":1}', b'"v":9007199254740992}'), "not_canonical"),
    "lone surrogate": (lambda t: b'{"a":"\\ud83d"}', "not_json"),
    "lone surrogate beside a plain emoji": (lambda t: '{"a":"\\ud83d","b":"🍜"}'.encode(), "not_json"),
    "encoded surrogate": (lambda t: b'{"a":"\xed\xa0\xbd"}', "not_json"),
    "duplicate key": (lambda t: b'{"option":"A","option":"B"}', "duplicate_key"),
    "escaped duplicate key": (lambda t: b'{"option":"A","opt\\u0069on":"B"}', "duplicate_key"),
    "nested duplicate key": (lambda t: b'{"a":[{"b":1,"b":1}]}', "duplicate_key"),
    "duplicate key in a signed body": (lambda t: escaped_twice(t.sign("bob").payload), "duplicate_key"),
    "float": (lambda t: b'{"a":1.0}', "not_canonical"),
    "exponent": (lambda t: b'{"a":1e999}', "not_canonical"),
    "NaN": (lambda t: b'{"a":NaN}', "not_json"),
    "infinity": (lambda t: b'{"a":-Infinity}', "not_json"),
    "byte order mark": (lambda t: b"\xef\xbb\xbf" + t.sign("bob").payload, "not_json"),
    "trailing newline": (lambda t: t.sign("bob").payload + b"\n", "not_canonical"),
    "spaces": (lambda t: t.sign("bob").payload.replace(b",", b", "), "not_canonical"),
    "keys out of order": (lambda t: b'{"b":1,"a":1}', "not_canonical"),
    "needless escape": (lambda t: t.sign("bob").payload.replace(b"room.tick", b"room\\u002etick"), "not_canonical"),
    "oversize": (lambda t: b'"' + b"a" * MAX_PAYLOAD_BYTES + b'"', "too_large"),
    "unknown field": (lambda t: with_field(t, "bob", extra=1), "bad_envelope"),
    "another version": (lambda t: with_field(t, "bob", v=2), "bad_envelope"),
    "true for 1": (lambda t: with_field(t, "bob", v=True), "bad_envelope"),
    "n is 0": (lambda t: with_field(t, "bob", n=0), "bad_envelope"),
    "no kind": (lambda t: with_field(t, "bob", body={}), "bad_envelope"),
    "sent is a long object": (lambda t: with_field(t, "bob", sent={f"{i:02d}": i for i in range(27)}), "bad_envelope"),
    "sent is a long list": (lambda t: with_field(t, "bob", sent=["x"] * 27), "bad_envelope"),
    "sent is a number": (lambda t: with_field(t, "bob", sent=1), "bad_envelope"),
    "sent without six digits": (lambda t: with_field(t, "bob", sent="2026-11-30T12:00:00Z"), "bad_envelope"),
    "sent with an offset": (lambda t: with_field(t, "bob", sent="2026-11-30T12:00:00.000+01:00"), "bad_envelope"),
    "sent on no day": (lambda t: with_field(t, "bob", sent="2026-02-30T12:00:00.000000Z"), "bad_envelope"),
    "sent on a leap second": (lambda t: with_field(t, "bob", sent="2026-06-30T23:59:60.000000Z"), "bad_envelope"),
    "head in capitals": (lambda t: with_field(t, "bob", seen={"count": 1, "head": "A" * 64}), "bad_envelope"),
    "count below 0": (lambda t: with_field(t, "bob", seen={"count": -1, "head": HEAD_0}), "bad_envelope"),
    "cost with odd seconds": (lambda t: with_field(t, "bob", cost={"seconds": "1e9"}), "bad_envelope"),
    "cost below 0": (lambda t: with_field(t, "bob", cost={"calls": -1}), "bad_envelope"),
    "empty cost": (lambda t: with_field(t, "bob", cost={}), "bad_envelope"),
    "short signature": (lambda t: with_field(t, "bob", sig="A" * 85), "bad_envelope"),
    "wrong room": (lambda t: t.sign("bob", room="elsewhere").payload, "wrong_room"),
    "bad signature": (lambda t: with_field(t, "bob", n=7), "bad_signature"),
    "another's signature": (lambda t: with_field(t, "ann", author=t.key("bob")), "bad_signature"),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_is_kept_with_its_code_and_harms_nobody(name, table, tmp_path):
    """TR-08, SG-02, SG-06: it stays raw with its code, nobody's chain or time moves, and the next good entry counts."""
    make, code = NOISE[name]
    before = copy.deepcopy(table.fold.chain.authors)
    payload = make(table)
    assert codes(table.store(table.key("bob"), payload, at=table.now + 30 * SECOND)) == [code]
    assert table.fold.last.entry is None and table.fold.last.payload == payload
    assert table.fold.last.id == sha256(payload).hexdigest()
    assert table.fold.chain.authors == before and table.fold.chain.at == table.fold.room.at == NOON
    assert len(table.fold.room.findings[-1].text) < 500
    assert table.act("bob") == [] and table.fold.last.entry is not None
    result = audit(table.finish().write(tmp_path / "x"), roster=table.roster)
    assert result.verdict == "verified"
    if len(payload) <= MAX_PAYLOAD_BYTES:
        assert list(LedgerReader(tmp_path / "x"))[1].payload == payload


def test_the_code_of_noise_does_not_depend_on_the_stack(table):
    """Two processes that fold at different depths say the same of one record."""
    payloads = [b"[" * depth for depth in (20, 32, 33, 200, 900, 990)]

    def judged(deeper: int) -> list[str]:
        if deeper:
            return judged(deeper - 1)
        found = []
        for payload in payloads:
            with pytest.raises(BadEntry) as caught:
                parse_entry(payload)
            found.append(caught.value.code)
        return found

    assert judged(0) == judged(300) == ["not_json"] * 2 + ["too_deep"] * 4


def test_anothers_entry_on_a_subject_is_not_of_the_room(table):
    """Subject and author disagree: no record, no position, no finding; everybody skips it alike."""
    entry = table.sign("ann")
    assert table.fold.add(Stored(2, table.now, table.key("bob"), entry.payload)) is None
    assert table.fold.add(Stored(2, table.now, OUTSIDER.public, entry.payload)) is None
    assert table.fold.add(Stored(2, table.now, OUTSIDER.public, b"noise")) is None
    assert table.fold.chain.position == 1


def test_a_duplicate_is_without_effect(table):
    """SG-06: the same bytes again, however much later, move neither chain nor time."""
    table.act("bob")
    payload = table.log[-1].payload
    for _ in range(50):
        table.say("ann")
    before = copy.deepcopy(table.fold.chain.authors)
    at = table.fold.chain.at
    assert codes(table.store(table.key("bob"), payload, at=table.now + SECOND)) == ["duplicate"]
    assert (table.fold.chain.authors, table.fold.chain.at) == (before, at)
    assert table.say("bob") == []


def test_equivocation_keeps_both_and_lets_the_first_stand(table):
    """TR-03: a fork is proven by two signatures; it is told apart from an altered record."""
    first, second = table.sign("bob"), table.sign("bob", {"kind": "room.leave", "because": "no"})
    assert codes(table.store(table.key("bob"), first.payload)) == []
    assert codes(table.store(table.key("bob"), second.payload)) == ["equivocation"]
    assert [record.payload for record in table.fold.records[1:]] == [first.payload, second.payload]
    assert table.fold.last.entry == second and "bob" not in table.fold.room.left
    altered = second.payload.replace(b'"no"', b'"on"')
    assert codes(table.store(table.key("bob"), altered)) == ["bad_signature"]
    assert table.say("bob") == []


@pytest.mark.parametrize("odd", [{"n": 3}, {"n": 1 << 50}, {"prev": "0" * 64}, {"prev": None}, {"n": 2}])
def test_a_gap_does_not_advance_the_chain(odd, table):
    """What does not follow its author's last entry is kept and counts for nothing."""
    table.act("bob")
    if odd == {"n": 2}:
        odd = {"prev": table.fold.chain.authors[table.key("ann")].ids[-1]}
    at = table.fold.chain.at
    assert table.say("bob", **odd) == ["chain_gap"]
    assert table.fold.chain.at == at and len(table.fold.chain.authors[table.key("bob")].ids) == 1
    assert table.say("bob") == []


@pytest.mark.parametrize("skewed", [60 * SECOND + 1, -60 * SECOND - 1, 365 * 86_400 * SECOND])
def test_a_disputed_clock_advances_the_chain_and_not_the_time(skewed, table):
    """Neither a broker's clock nor an author's runs the room away; the entry counts for nothing and is said again."""
    at = table.fold.chain.at
    assert table.act("bob", at=table.now + MILLISECOND + skewed) == ["clock_disputed"]
    chain = table.fold.chain
    assert chain.at == table.fold.room.at == at and len(chain.authors[table.key("bob")].ids) == 1
    assert "bob" in table.fold.room.step.awaited(list(table.names))
    assert table.act("bob") == [] and "bob" not in table.fold.room.step.awaited(list(table.names))


@pytest.mark.parametrize("skewed", [60 * SECOND, -60 * SECOND])
def test_the_skew_is_inclusive(skewed):
    """Sixty seconds apart is within sixty seconds."""
    table = Table(step_seconds=600)
    assert table.act("bob", at=table.now + MILLISECOND + skewed) == []


def test_log_time_never_runs_backwards(table):
    """A store clock that steps back leaves the log's time where it was."""
    table.act("bob")
    at = table.fold.chain.at
    assert table.act("cyd", at=at - SECOND) == []
    assert table.fold.chain.at == table.fold.room.at == at


def test_seen_that_falls_or_forgets_the_own_last_entry_is_stale(table):
    """It refuses the body only: the chain advances."""
    table.act("bob")
    assert table.say("bob", seen=(1, table.fold.chain.heads[1])) == ["seen_stale"]
    assert table.say("bob", seen=(0, HEAD_0)) == ["seen_stale"]
    assert len(table.fold.chain.authors[table.key("bob")].ids) == 3
    assert table.say("bob") == []


@pytest.mark.parametrize("seen", [(2, "0" * 64), (3, "0" * 64), (9_007_199_254_740_991, "0" * 64)])
def test_another_head_or_one_of_the_future_is_a_mismatch(seen, table):
    """It refuses the body only; a count that no log has reached locks nobody out, its author included."""
    table.act("bob")
    assert table.say("bob", {"kind": "room.leave", "because": "x"}, seen=seen) == ["seen_mismatch"]
    assert "bob" not in table.fold.room.left
    assert table.say("bob") == [] and table.say("ann") == []


def test_an_answer_whose_author_had_not_seen_the_step_is_stale():
    """Nobody answers a question that it has not read."""
    table = Table()
    for name in table.names:
        table.act(name)
    opened = table.fold.room.step.opened
    head = table.fold.chain.heads[opened - 1]
    assert table.fold.room.step.id == "room.closing" and opened == 4
    assert table.act("ann", seen=(opened - 1, head)) == ["seen_stale"]
    assert table.act("ann") == []


# -- liars and brokers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", [(2, "f" * 64), (3, "e" * 64), (10**15, "d" * 64)])
def test_a_member_that_lies_about_the_head_does_not_fail_an_honest_ledger(lie, tmp_path):
    """Later signatures of others over the same log clear it; the lie stays a finding of its author's."""
    table = Table()
    table.act("bob")
    table.say("bob", seen=lie)
    table.finish()
    result = audit(table.write(tmp_path / "x"), roster=table.roster)
    assert result.verdict == "verified"
    assert [(f["who"], f["position"]) for f in result.findings if f["code"] == "seen_mismatch"] == [("bob", 3)]


def test_a_member_that_always_lies_does_not_fail_an_honest_ledger(tmp_path):
    """One liar among three fails nobody's ledger: it holds it up, as it can by not signing it, and is named."""
    table = Table()
    for _ in range(4):
        for name in table.names:
            table.act(name, **({"seen": (table.fold.chain.position, "0" * 64)} if name == "cyd" else {}))
    table.say("ann")
    table.say("bob")
    result = audit(table.write(tmp_path / "x"), roster=table.roster)
    assert result.verdict == "contested" and [c["member"] for c in result.contested] == ["cyd"]
    assert result.contested[0]["position"] == 1 and not any(f["code"] == "altered" for f in result.findings)


def test_a_lie_at_the_very_end_is_cleared_by_its_authors_receipt(tmp_path):
    """A liar and a victim look the same there: others' signatures clear nothing, its author's own clears all."""
    table = Table().finish()
    table.say("ann")
    table.say("bob", seen=(10, "0" * 64))
    path = table.write(tmp_path / "x")
    receipt = tmp_path / "receipt"
    for name, verdict in (("cyd", "contested"), ("bob", "verified")):
        receipt.write_bytes(canonical(table.receipt(name).plain()) + b"\n")
        result = audit(path, roster=table.roster, receipts=[receipt])
        assert result.verdict == verdict
        assert (verdict == "contested") == names_record(result, 10)


def forged(table: Table, log: list[Stored], path, **options):
    """Audit what a broker made of the log, closed by the broker's own fresh and fitting checkpoint."""
    return audit(write_fold(path / "forged", replay(table.room, log), OUTSIDER), roster=table.roster, **options)


def test_a_broker_that_redates_is_contested_by_all_who_saw_it(tmp_path):
    """However little it moves one record that somebody has seen, and whatever it signs itself."""
    table = Table().finish()
    table.say("ann")
    table.say("bob")
    for position in range(1, len(table.log)):
        for shift in (1, -1, 40 * SECOND):
            moved = replace(table.log[position - 1], stored=table.log[position - 1].stored + shift)
            result = forged(table, [*table.log[: position - 1], moved, *table.log[position:]], tmp_path)
            assert result.verdict == "contested" and names_record(result, position), (position, shift)
            assert result.stands < position


def contesting(result):
    """Return who contests *result*."""
    assert (result.verdict, result.exit_code()) == ("contested", 3)
    return {each["member"] for each in result.contested}


def test_a_broker_that_redates_everything_alike_is_contested_by_everybody(tmp_path):
    """A whole log shifted by a second contradicts everybody, and nothing of it stands."""
    table = Table().finish()
    result = forged(table, [replace(stored, stored=stored.stored + SECOND) for stored in table.log], tmp_path)
    assert contesting(result) == {*table.names} and names_record(result, 1) and result.stands == 0


def test_a_broker_that_reorders_or_drops_is_contested(tmp_path):
    """Two records in the other order, or one left out, under the broker's own fresh checkpoint."""
    table = Table().finish()
    table.say("ann")
    table.say("bob")
    for i in range(1, len(table.log) - 2):
        first, second = table.log[i], table.log[i + 1]
        swapped = [*table.log[:i], replace(second, stored=first.stored), replace(first, stored=second.stored)]
        assert contesting(forged(table, [*swapped, *table.log[i + 2 :]], tmp_path))
        assert contesting(forged(table, [*table.log[:i], *table.log[i + 1 :]], tmp_path))


def test_a_broker_with_one_member_on_its_side_is_contested_by_the_others(tmp_path):
    """Its helper signs the forged log; the others, who signed the true one and never this, contest it."""
    table = Table().finish()
    moved = replace(table.log[1], stored=table.log[1].stored + 1)
    helper = Table()
    helper.fold = replay(table.room, [table.log[0], moved, *table.log[2:]])
    helper.log, helper.room, helper.now = [table.log[0], moved, *table.log[2:]], table.room, table.now
    helper.say("cyd")
    helper.say("cyd")
    result = audit(write_fold(tmp_path / "x", helper.fold, OUTSIDER), roster=table.roster)
    assert contesting(result) == {"ann", "bob"} and names_record(result, 2)


def test_a_dropped_end_is_proven_by_a_receipt(tmp_path):
    """A member's receipt over more records than the file has fails it, naming the first that is missing."""
    table = Table().finish()
    receipt = tmp_path / "receipt"
    receipt.write_bytes(canonical(table.receipt("bob").plain()) + b"\n")
    result = forged(table, table.log[:-1], tmp_path, receipts=[receipt])
    assert (result.findings[0]["code"], result.findings[0]["position"]) == ("rolled_back", len(table.log))


# -- the opening --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        ({"n": 2}, "bad_opening"),
        ({"prev": "0" * 64}, "bad_opening"),
        ({"seen": (1, HEAD_0)}, "bad_opening"),
        ({"seen": (0, "f" * 64)}, "seen_mismatch"),
        ({"sent": NOON + 61 * SECOND}, "clock_disputed"),
        ({"room": "table-" + "a" * 26}, "bad_opening"),
        ({"body": {"kind": "room.tick"}}, "bad_opening"),
    ],
)
def test_an_opening_out_of_form_opens_nothing(odd, code):
    """Position 1, seen nothing, under its own name, by its author's own clock: or there is no room."""
    table = Table()
    body = parse_entry(table.opened.payload).body
    fields = {"n": 1, "prev": None, "seen": (0, HEAD_0), "sent": NOON, "body": body, **odd}
    payload = table.sign("ann", fields.pop("body"), **fields).payload
    with pytest.raises(BadEntry) as caught:
        Fold.open(Stored(1, NOON, table.key("ann"), payload), fields.get("room", table.room))
    assert caught.value.code == code


def test_a_room_cannot_be_opened_by_an_outsider_or_under_anothers_name():
    """The name is a digest of author and opening, and the author is a member."""
    table = Table()
    opening = table.fold.room.setting.opening
    theirs = sign_opening(OUTSIDER, opening, NOON)
    assert theirs.room != table.room
    with pytest.raises(BadEntry, match="one of its members"):
        Fold.open(Stored(1, NOON, OUTSIDER.public, theirs.payload), theirs.room)


def test_a_roster_with_a_text_that_is_no_key_opens_nothing():
    """A key with a wrong checksum could never speak; its room would only wait for it."""
    table = Table()
    opening = table.fold.room.setting.opening
    ann, bob, cyd = opening.roster
    key = bob.key[:-1] + ("A" if bob.key[-1] != "A" else "B")
    wrong = opening.model_copy(update={"roster": [ann, bob.model_copy(update={"key": key}), cyd]})
    entry = sign_opening(table.identities["ann"], wrong, NOON)
    with pytest.raises(BadEntry, match="no public key"):
        Fold.open(Stored(1, NOON, entry.author, entry.payload), entry.room)


# -- the fold as a whole ------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_folding_in_two_parts_or_twice_is_folding_once(data, noisy):
    """Replay equals incremental: from a copy of any prefix on, the rest leads to the very same state."""
    claimed = list(LedgerReader(noisy.path))
    log = [Stored(c.position, c.stored, c.author, c.payload) for c in claimed]
    room = noisy.lines[0][20:-3].decode()
    once = replay(room, log)
    cut = data.draw(st.integers(1, len(log)))
    prefix = replay(room, log[:cut])
    resumed = copy.deepcopy(prefix)
    for fold in (resumed, prefix):
        for stored in log[cut:]:
            fold.add(stored)
        assert fold.chain == once.chain
        assert summary_of(fold.room) == summary_of(once.room)
        assert fold.records == once.records


@pytest.mark.parametrize("fraction", ["123456", "100000", "000000"])
def test_times_survive_writing_and_reading_to_the_microsecond(fraction, tmp_path):
    """CM-07: what is hashed is what is stored, zero fractions included."""
    at = parse_instant(f"2026-11-30T12:00:00.{fraction}Z")
    table = Table(at=at)
    path = table.write(tmp_path / "x")
    assert f'"stored":"2026-11-30T12:00:00.{fraction}Z"'.encode() in path.read_bytes()
    (claimed,) = LedgerReader(path)
    assert replay(table.room, [Stored(1, claimed.stored, claimed.author, claimed.payload)]).chain == table.fold.chain


@given(st.lists(st.binary(min_size=32, max_size=32).map(bytes.hex), max_size=9))
def test_compact_digests_behave_like_the_list_of_them(digests):
    """Heads are kept in 32 bytes each, and read back as they were written."""
    compact = Digests(digests)
    assert list(compact) == digests and len(compact) == len(digests) and compact == Digests(digests)
    assert compact[1:] == digests[1:] and compact[:-1] == digests[:-1]
    if digests:
        assert (compact[-1], compact[0]) == (digests[-1], digests[0])
    compact.append("0" * 64)
    assert compact[len(digests)] == "0" * 64 and compact != Digests(digests)
    with pytest.raises(IndexError):
        compact[len(digests) + 1]
