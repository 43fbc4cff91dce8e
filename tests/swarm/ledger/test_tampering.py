"""Whoever changes a written ledger is found out, and the finding names the record."""

import base64
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.core.canonical import canonical
from protocols.core.instants import format_instant, parse_instant
from swarm.auditing.auditing import AuditResult, audit
from swarm.errors import BadInput
from swarm.signed.checkpoint import Checkpoint, sign_checkpoint
from swarm.signed.identity import Identity
from tests.support.signed_rooms import OUTSIDER, Ledger, Table, audited, names_record, replay, tampered, write_fold


def failed_at(result: AuditResult, position: int) -> bool:
    return result.verdict == "failed" and result.exit_code() == 1 and names_record(result, position)


def flip(lines: list[bytes], number: int, place: int, value: int) -> list[bytes]:
    line = bytearray(lines[number])
    line[place] = value
    return [*lines[:number], bytes(line), *lines[number + 1 :]]


def file_in(folder: pytest.TempPathFactory) -> Path:
    return folder.getbasetemp() / "tampered.jsonl"


@pytest.mark.parametrize("which", ["real", "noisy"])
def test_untouched_ledgers_verify(which, request):
    """What the other tests change verifies as long as nobody does."""
    ledger = request.getfixturevalue(which)
    result = audit(ledger.path, roster=ledger.roster)
    assert (result.verdict, result.exit_code(), result.entries) == ("verified", 0, len(ledger.records))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("which", ["real", "noisy"])
def test_any_one_byte_of_any_record_changed_fails_and_names_the_record(which, data, request, tmp_path_factory):
    """No byte of a record, be it entry, raw, position, time or newline, can be another without it showing."""
    ledger: Ledger = request.getfixturevalue(which)
    position = data.draw(st.sampled_from(ledger.records))
    line = ledger.lines[position]
    place = data.draw(st.integers(0, len(line) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda value: value != line[place]))
    lines = flip(ledger.lines, position, place, value)
    assert failed_at(audited(file_in(tmp_path_factory), lines, roster=ledger.roster), position)


@pytest.mark.parametrize("position", [1, 2, 9])
def test_every_byte_of_these_records_changed_in_its_lowest_bit_fails(position, table, tmp_path):
    """The opening, a record that others cover, and the last, which only the closing checkpoint covers: byte by byte."""
    lines = table.finish().write(tmp_path / "x").read_bytes().splitlines(keepends=True)
    assert len(lines) == 11
    for place, byte in enumerate(lines[position]):
        result = audited(tmp_path / "x", flip(lines, position, place, byte ^ 1), roster=table.roster)
        assert failed_at(result, position), place


def test_the_last_character_of_a_signature_has_one_form(real, tmp_path):
    """The bits that base64 has to spare give no second text of one signature."""
    for position in real.records:
        line = real.lines[position]
        place = line.index(b'","v":1}') - 1
        # Of 64 characters each group of sixteen says the same first two bits; A, Q, g and w are the canonical ones.
        value = {b"A": b"B", b"Q": b"R", b"g": b"h", b"w": b"x"}[line[place : place + 1]][0]
        result = audited(tmp_path / "x", flip(real.lines, position, place, value), roster=real.roster)
        assert failed_at(result, position) and "sig" in result.findings[0]["text"]


def test_raw_bytes_have_one_text(noisy, tmp_path):
    """Nor do the spare bits of a raw record's base64."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    padded = [position for position in noisy.records if b'=","stored"' in noisy.lines[position]]
    assert padded
    for position in padded:
        place = noisy.lines[position].index(b"=") - 1
        value = alphabet[alphabet.index(noisy.lines[position][place]) + 1]
        result = audited(tmp_path / "x", flip(noisy.lines, position, place, value), roster=noisy.roster)
        assert failed_at(result, position)


@settings(max_examples=60, deadline=None)
@given(shift=st.integers(1, 50_000_000), back=st.booleans(), data=st.data())
def test_a_record_stored_at_another_time_fails(shift, back, data, real, tmp_path_factory):
    """Store times are signed by whoever says something later: none can be moved, not even within the skew."""
    position = data.draw(st.sampled_from(real.records))
    line = real.lines[position]
    stored = parse_instant(line[-30:-3].decode())
    lines = list(real.lines)
    lines[position] = tampered(line, stored=format_instant(stored - shift if back else stored + shift))
    assert failed_at(audited(file_in(tmp_path_factory), lines, roster=real.roster), position)


def test_every_record_removed_or_repeated_fails_there(noisy, tmp_path):
    """A hole or a repetition shows, the record after it renumbered or not."""
    for position in noisy.records:
        without = [*noisy.lines[:position], *noisy.lines[position + 1 :]]
        assert failed_at(audited(tmp_path / "x", without, roster=noisy.roster), position)
        twice = [*noisy.lines[: position + 1], *noisy.lines[position:]]
        assert failed_at(audited(tmp_path / "x", twice, roster=noisy.roster), position + 1)


def test_every_two_neighbours_swapped_fail_there(noisy, tmp_path):
    """The order of two records is signed, also where the file gives them each other's position."""
    for position in noisy.records[:-1]:
        first, second = noisy.lines[position], noisy.lines[position + 1]
        swapped = [*noisy.lines[:position], second, first, *noisy.lines[position + 2 :]]
        assert failed_at(audited(tmp_path / "x", swapped, roster=noisy.roster), position)


def renumbered(lines: list[bytes]) -> list[bytes]:
    records = [
        re.sub(rb'("position":)\d+(,"(?:stored|raw)":"[^"]*"(?:,"stored":"[^"]*")?\}\n)', rb"\g<1>%d\g<2>" % i, line)
        for i, line in enumerate(lines[1:-1], 1)
    ]
    return [lines[0], *records, lines[-1]]


def test_removed_or_swapped_and_renumbered_fails_too(noisy, tmp_path):
    """Giving the remaining records new positions does not help: their authors signed the old order."""
    assert renumbered(noisy.lines) == noisy.lines
    for position in noisy.records:
        lines = renumbered([*noisy.lines[:position], *noisy.lines[position + 1 :]])
        assert audited(tmp_path / "x", lines, roster=noisy.roster).verdict == "failed"
    for position in noisy.records[:-1]:
        first, second = noisy.lines[position], noisy.lines[position + 1]
        lines = renumbered([*noisy.lines[:position], second, first, *noisy.lines[position + 2 :]])
        assert failed_at(audited(tmp_path / "x", lines, roster=noisy.roster), position)


def test_a_record_of_another_room_fails_where_it_was_put(real, other, tmp_path):
    """A true signature from elsewhere proves nothing here."""
    for position in real.records[::7]:
        lines = [*real.lines[:position], other.lines[position], *real.lines[position + 1 :]]
        assert failed_at(audited(tmp_path / "x", lines, roster=real.roster), position)


def test_members_words_of_another_room_fail_where_they_were_put(tmp_path):
    """Nor does it if the very same members sit in both rooms (SG-06)."""
    here, there = Table().finish(), Table(skew_seconds=59).finish()
    assert here.roster == there.roster and here.room != there.room
    lines, theirs = (t.write(tmp_path / "x").read_bytes().splitlines(keepends=True) for t in (here, there))
    for position in range(1, len(lines) - 1):
        spliced = [*lines[:position], theirs[position], *lines[position + 1 :]]
        assert failed_at(audited(tmp_path / "x", spliced, roster=here.roster), position)


def test_cut_off_anywhere_near_the_end_is_never_verified(table, tmp_path):
    """A torn tail is said, and the verdict is at best incomplete."""
    whole = table.finish().write(tmp_path / "x").read_bytes()
    for cut in range(1, 900):
        result = audited(tmp_path / "x", [whole[:-cut]], roster=table.roster)
        # Cut exactly between two lines, the file misses its checkpoint; anywhere else its last line is torn.
        torn = not whole[:-cut].endswith(b"\n")
        assert (result.verdict, result.exit_code()) == ("incomplete", 3), cut
        assert any(f["code"] == "torn_tail" for f in result.findings) == torn
        assert not result.complete


def test_a_checkpoint_with_any_byte_changed_is_never_verified(table, tmp_path):
    """The closing line is its signer's or the ledger fails; only without its newline it is merely torn."""
    lines = table.finish().write(tmp_path / "x").read_bytes().splitlines(keepends=True)
    number = len(lines) - 1
    for place, byte in enumerate(lines[number]):
        result = audited(tmp_path / "x", flip(lines, number, place, byte ^ 1), roster=table.roster)
        assert result.verdict == ("failed" if place < len(lines[number]) - 1 else "incomplete"), place


def test_without_its_checkpoint_a_ledger_is_not_complete(real, tmp_path):
    """Whoever cuts the checkpoint away cannot claim that this was all."""
    result = audited(tmp_path / "x", real.lines[:-1], roster=real.roster)
    assert (result.verdict, result.complete) == ("incomplete", False)


def test_the_end_cut_off_under_a_fresh_checkpoint_is_not_complete(tmp_path):
    """An exporter that leaves the last signatures out signs a shorter ledger, and it shows."""
    table = Table().finish()
    for length in range(1, len(table.log)):
        short = replay(table.room, table.log[:length])
        result = audit(write_fold(tmp_path / "x", short, OUTSIDER), roster=table.roster)
        assert (result.verdict, result.exit_code()) == ("incomplete", 3) or length == len(table.log) - 1
        receipt = tmp_path / "receipt"
        receipt.write_bytes(receipt_line(table.receipt("cyd")))
        result = audit(tmp_path / "x", roster=table.roster, receipts=[receipt])
        assert failed_at(result, length + 1) or result.findings[0]["position"] == length + 1


def receipt_line(receipt: Checkpoint) -> bytes:
    return canonical(receipt.plain()) + b"\n"


def test_an_altered_header_is_never_verified(real, tmp_path):
    """The header's bytes are its one form, and the room it names is the one that was opened."""
    for place, byte in enumerate(real.lines[0]):
        for value in (byte ^ 1, byte ^ 32):
            try:
                result = audited(tmp_path / "x", flip(real.lines, 0, place, value), roster=real.roster)
            except BadInput as problem:
                assert place < len(b'{"ledger":1,'), problem
            else:
                assert result.exit_code() == 1


@pytest.mark.parametrize(
    "header",
    [
        b'{"ledger":true,"room":"x"}\n',
        b'{"ledger":2,"room":"x"}\n',
        b'{"ledger":1.0,"room":"x"}\n',
        b"[]\n",
        b"room: x\n",
        b'{"room":"x"}\n',
    ],
)
def test_another_header_is_no_ledger(header, real, tmp_path):
    """What does not begin like a ledger is bad input, not a failed audit."""
    with pytest.raises(BadInput, match="ledger"):
        audited(tmp_path / "x", [header, *real.lines[1:]])


def test_a_ledger_forged_whole_vouches_for_nothing(real, other, tmp_path):
    """SG-04: fresh keys throughout are consistent, but never verified; with the right roster it fails at record 1."""
    assert audit(other.path).exit_code() == 3
    result = audit(other.path, roster=real.roster)
    assert result.exit_code() == 1
    assert (result.findings[0]["code"], result.findings[0]["position"]) == ("key_mismatch", 1)


@pytest.mark.parametrize("name", ["ann", "bob", "cyd"])
def test_one_key_swapped_fails_at_that_members_first_record(name, real):
    """SG-04: the finding points at the first thing that the wrong key said."""
    result = audit(real.path, roster={**real.roster, name: OUTSIDER.public})
    first = next(
        p for p in real.records if real.lines[p].startswith(b'{"entry":{"author":"%s"' % real.roster[name].encode())
    )
    assert result.exit_code() == 1
    assert [(f["code"], f["position"], f["who"]) for f in result.findings[:1]] == [("key_mismatch", first, name)]


def test_a_roster_with_more_names_is_noted_and_with_fewer_pins_not_all(real):
    """One roster serves many rooms; whom it does not name, it does not vouch for, and name and key are said."""
    more = audit(real.path, roster={**real.roster, "dan": OUTSIDER.public})
    assert more.verdict == "verified" and [f["who"] for f in more.findings if f["code"] == "not_in_room"] == ["dan"]
    fewer = audit(real.path, roster={name: key for name, key in real.roster.items() if name != "bob"})
    (told,) = [f for f in fewer.findings if f["code"] == "not_pinned"]
    assert (fewer.verdict, fewer.exit_code(), fewer.pinned, told["who"]) == ("incomplete", 3, False, "bob")
    assert real.roster["bob"] in told["text"]


def test_a_raw_record_that_is_an_entry_fails(table, tmp_path):
    """The form in which a record stands follows from its bytes: nobody can choose to keep an entry as noise."""
    lines = table.finish().write(tmp_path / "x").read_bytes().splitlines(keepends=True)
    for position, stored in enumerate(table.log, 1):
        raw = base64.b64encode(stored.payload).decode()
        time = lines[position][-30:-3].decode()
        line = f'{{"author":"{stored.author}","position":{position},"raw":"{raw}","stored":"{time}"}}\n'.encode()
        result = audited(tmp_path / "x", [*lines[:position], line, *lines[position + 1 :]], roster=table.roster)
        assert failed_at(result, position)


def test_a_checkpoint_of_another_room_or_length_fails(real, tmp_path):
    """The closing checkpoint is over exactly these records, and properly signed."""
    head = real.lines[-1][real.lines[-1].index(b'"head":"') + 8 :][:64].decode()
    room = real.lines[0][20:-3].decode()
    count = len(real.records)
    for changed in ({"room": "x"}, {"count": count - 1}, {"count": count + 1}, {"head": "0" * 64}):
        fields = {"room": room, "count": count, "head": head, **changed}
        closing = canonical(sign_checkpoint(OUTSIDER, **fields).plain()) + b"\n"
        result = audited(tmp_path / "x", [*real.lines[:-1], closing], roster=real.roster)
        assert result.findings[0]["code"] == "checkpoint_mismatch" and result.exit_code() == 1
    closing = canonical(sign_checkpoint(OUTSIDER, room=room, count=count, head=head).plain()) + b"\n"
    assert audited(tmp_path / "x", [*real.lines[:-1], closing], roster=real.roster).exit_code() == 0


def test_a_line_after_the_checkpoint_fails(real, tmp_path):
    """Nothing can be added behind the end."""
    assert audited(tmp_path / "x", [*real.lines, b"\n"], roster=real.roster).exit_code() == 1
    assert audited(tmp_path / "x", [*real.lines, real.lines[-1]], roster=real.roster).exit_code() == 1


def test_a_checkpoint_signature_has_one_text():
    """Neither spare bits nor skipped characters give a checkpoint a second form that verifies."""
    key = Identity(bytes(32))
    good = sign_checkpoint(key, room="r", count=1, head="0" * 64)
    assert good.is_signed()
    last = {"A": "B", "Q": "R", "g": "h", "w": "x"}[good.sig[-1]]
    for sig in (good.sig[:-1] + last, good.sig + "=", "*" + good.sig, good.sig[:40] + "\n" + good.sig[40:], "", "AAAA"):
        assert not Checkpoint(good.by, good.count, good.head, good.room, sig).is_signed()
