"""Whoever hands a ledger over: cut, spliced, rewritten or made up as a whole, it does not verify.

Where no record can be vouched for the verdict says so; it never takes the file's own word for whose keys these are.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from protocols.core.canonical import canonical
from protocols.messages.room import room_name
from swarm.auditing.auditing import AuditResult, audit
from swarm.errors import BadEntry
from swarm.ledger.chain import HEAD_0
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import Entry, parse_entry, sign_entry
from swarm.signed.identity import Identity
from tests.support.lying_logs import Party
from tests.support.signed_rooms import SECOND, Table

Lines = list[bytes]


@pytest.fixture(scope="module")
def party() -> Party:
    return Party().sit()


@pytest.fixture(scope="module")
def other() -> Party:
    """The same people under the same keys in another room."""
    return Party().sit()


@pytest.fixture
def lines(party: Party, tmp_path: Path) -> Lines:
    return party.export("ann", tmp_path).read_bytes().splitlines(keepends=True)


@pytest.fixture
def audited(party: Party, tmp_path: Path) -> Callable[..., AuditResult]:
    """Write lines as a ledger and audit it, with the roster that is pinned."""

    def audited(lines: Lines, **options: object) -> AuditResult:
        path = tmp_path / "handed.jsonl"
        path.write_bytes(b"".join(lines))
        return audit(path, **{"roster": party.roster(), **options})

    return audited


def failed(result: AuditResult) -> bool:
    return (result.verdict, result.exit_code()) == ("failed", 1)


# -- truncated --------------------------------------------------------------------------------------------------------


def test_the_ledger_verifies_as_it_is(lines: Lines, audited: Callable[..., AuditResult]) -> None:
    """What is changed below is in order."""
    assert audited(lines).exit_code() == 0


def test_cut_anywhere_it_is_never_verified(lines: Lines, audited: Callable[..., AuditResult]) -> None:
    """Lines away from the end: not complete. A line cut in two: said so, and what stands before it is read."""
    for kept in range(2, len(lines)):
        result = audited(lines[:kept])
        assert (result.verdict, result.complete, result.entries) == ("incomplete", False, kept - 1)
        torn = audited([*lines[:kept], lines[kept][:-30]])
        assert torn.exit_code() == 3 and "torn_tail" in {f["code"] for f in torn.findings}


def test_cut_and_closed_afresh_it_is_not_complete(
    party: Party, lines: Lines, audited: Callable[..., AuditResult], tmp_path: Path
) -> None:
    """An exporter that leaves the end out can sign a shorter ledger; any other member's receipt contests it."""
    last = parse_entry(_entry(lines[-4])).seen_head, int(parse_entry(_entry(lines[-4])).seen_count)
    closing = sign_checkpoint(party.members["ann"].identity, room=party.room, count=last[1], head=last[0])
    short = [*lines[: last[1] + 1], canonical(closing.plain()) + b"\n"]
    assert audited(short).verdict == "incomplete"
    assert audited(short, receipts=[party.receipt("bob", tmp_path)]).verdict == "contested"


def _entry(line: bytes) -> bytes:
    return line[len(b'{"entry":') : line.rindex(b',"position":')]


# -- spliced ----------------------------------------------------------------------------------------------------------


def test_spliced_from_two_rooms_it_fails(
    lines: Lines, other: Party, audited: Callable[..., AuditResult], tmp_path: Path
) -> None:
    """True words of the same people from elsewhere, one or all from some place on, are not of this room."""
    theirs = other.export("ann", tmp_path).read_bytes().splitlines(keepends=True)
    for place in range(1, len(lines) - 1, 2):
        assert failed(audited([*lines[:place], theirs[place], *lines[place + 1 :]]))
        assert failed(audited([*lines[:place], *theirs[place:]]))


def test_pieces_in_another_order_fail(lines: Lines, audited: Callable[..., AuditResult]) -> None:
    """Records swapped, repeated, left out, or with the end of the file before the middle."""
    records, tail = lines[1:-1], lines[-1:]
    for place in range(1, len(records) - 1, 2):
        for changed in (
            [*records[:place], *records[place + 1 :]],
            [*records[:place], records[place], *records[place:]],
            [*records[:place], records[place + 1], records[place], *records[place + 2 :]],
            [*records[place:], *records[:place]],
        ):
            assert failed(audited([lines[0], *changed, *tail]))


# -- re-signed, re-keyed ----------------------------------------------------------------------------------------------


def _resigned(party: Party, keys: dict[str, Identity], path: Path) -> Path:
    """Write the party's whole room again as *keys* would have signed it."""
    old = {member.identity.public: name for name, member in party.members.items()}
    ids: dict[str, str] = {}
    said: dict[str, list[str]] = {name: [] for name in keys}
    fold: Fold | None = None
    room = ""
    for record in party.fold("ann").records:
        entry = record.entry
        assert entry is not None
        name = old[entry.author]
        text = json.dumps(entry.body)
        for key, who in old.items():
            text = text.replace(key, keys[who].public)
        for before, after in ids.items():
            text = text.replace(before, after)
        body = json.loads(text)
        if fold is None:
            room = room_name("picnic", keys[name].public, body)
        seen = (0, HEAD_0) if fold is None else (fold.chain.position, fold.chain.head)
        prev = said[name][-1] if said[name] else None
        signed: Entry = sign_entry(
            keys[name], room=room, n=entry.n, prev=prev, seen=seen, sent=record.stored, body=body
        )
        ids[entry.id] = signed.id
        said[name].append(signed.id)
        stored = Stored(record.position, record.stored, signed.author, signed.payload)
        if fold is None:
            fold = Fold.open(stored, room)
        else:
            fold.add(stored)
    assert fold is not None
    closing = sign_checkpoint(keys["ann"], room=room, count=fold.chain.position, head=fold.chain.head)
    write_ledger(path, room, fold.records, closing)
    return path


def test_rewritten_by_one_of_its_members_it_fails_for_the_others(party: Party, tmp_path: Path) -> None:
    """One that holds its own key only cannot change what the others signed, nor what it had said itself."""
    mallory = Identity.new()
    keys = {"ann": party.members["ann"].identity, "bob": mallory, "cyd": mallory}
    with pytest.raises(BadEntry, match="same key"):
        _resigned(party, keys, tmp_path / "x")
    keys["cyd"] = Identity.new()
    forged = _resigned(party, keys, tmp_path / "x")
    assert failed(audit(forged, roster=party.roster()))
    assert audit(forged).exit_code() == 3


def test_forged_whole_with_fresh_keys_it_vouches_for_nothing(party: Party, tmp_path: Path) -> None:
    """SG-04: consistent in itself, so not failed, and never verified; against the roster it fails at record 1."""
    keys = {name: Identity.new() for name in party.members}
    forged = _resigned(party, keys, tmp_path / "x")
    alone = audit(forged)
    assert (alone.verdict, alone.exit_code(), alone.pinned) == ("incomplete", 3, False)
    assert "not_pinned" in {finding["code"] for finding in alone.findings}
    result = audit(forged, roster=party.roster())
    assert failed(result)
    assert (result.findings[0]["code"], result.findings[0]["position"]) == ("key_mismatch", 1)


def test_one_key_of_the_roster_swapped_fails_at_that_members_first_record(party: Party, tmp_path: Path) -> None:
    """SG-04: whoever is not who it should be is named, at the first thing it said."""
    for name in party.members:
        path = party.export("ann", tmp_path)
        result = audit(path, roster={**party.roster(), name: Identity.new().public})
        first = next(r.position for r in party.fold("ann").records if r.author == party.key(name))
        assert failed(result)
        assert [(f["code"], f["position"], f["who"]) for f in result.findings[:1]] == [("key_mismatch", first, name)]


def test_one_entry_signed_again_by_its_own_author_fails(
    party: Party, lines: Lines, audited: Callable[..., AuditResult]
) -> None:
    """Not even the author can put other words in the place of its own: the others have signed the first ones."""
    for position in (5, 12, 17):
        entry = parse_entry(_entry(lines[position]))
        name = next(n for n, m in party.members.items() if m.identity.public == entry.author)
        again = sign_entry(
            party.members[name].identity,
            room=entry.room, n=entry.n, prev=entry.prev, seen=(entry.seen_count, entry.seen_head), sent=entry.sent,
            body={"kind": "room.leave", "because": "I was never there"},
        )  # fmt: skip
        changed = lines[position].replace(entry.payload, again.payload)
        assert failed(audited([*lines[:position], changed, *lines[position + 1 :]]))


def test_a_checkpoint_of_anothers_making_vouches_for_nothing(
    lines: Lines, audited: Callable[..., AuditResult], party: Party
) -> None:
    """It tells how long the file is; whose word it is stands beside it, and a stranger's completes nothing."""
    head = party.fold("ann").chain.head
    stranger = sign_checkpoint(Identity.new(), room=party.room, count=len(lines) - 2, head=head)
    assert audited([*lines[:-1], canonical(stranger.plain()) + b"\n"]).exit_code() == 0
    borrowed = json.loads(lines[-1])
    borrowed["checkpoint"]["by"] = party.key("bob")
    assert failed(audited([*lines[:-1], canonical(borrowed) + b"\n"]))


def test_all_but_one_with_the_broker_cannot_finish_without_the_last(tmp_path: Path) -> None:
    """Two of three sign another history, and put in what the third signed of the true one: never complete."""
    true = Table().finish()
    assert audit(true.write(tmp_path / "true"), roster=true.roster).verdict == "verified"
    words = [stored.payload for stored in true.log if stored.author == true.key("cyd")]
    forged = Table()
    forged.now += SECOND
    for _ in range(4):
        for name in ("ann", "bob"):
            forged.act(name)
        if words:
            forged.store(forged.key("cyd"), words.pop(0))
    result = audit(forged.write(tmp_path / "forged"), roster=true.roster)
    assert result.verdict != "verified" and not result.complete
    assert "seen_mismatch" in {f["code"] for f in result.findings if f["who"] == "cyd"}
