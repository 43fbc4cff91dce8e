"""Whatever is in a ledger file: an audit ends in a verdict or in bad input, and no changed field is ever verified."""

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swarm.cli
from protocols.core.canonical import canonical
from protocols.core.findings import CODES
from swarm.auditing.auditing import AuditResult, audit, read_roster
from swarm.errors import BadEntry, BadInput
from swarm.signed.checkpoint import sign_checkpoint
from tests.support.fuzz_rooms import Script, retold, write
from tests.support.fuzz_values import changes, fuzzed, one_field_changed
from tests.support.signed_rooms import OUTSIDER, Table

LEDGERS = Path(__file__).parents[1] / "ledgers"
GOOD = LEDGERS / "good.jsonl"
ROSTER = read_roster(LEDGERS / "roster.yaml")
LINES = GOOD.read_bytes().splitlines(keepends=True)
EXITS = {0, 1, 2, 3, 4}


def audited(path: Path, data: bytes, **options: Any) -> AuditResult | BadInput:
    """Audit *data*; everything but a result and bad input escapes."""
    path.write_bytes(data)
    try:
        result = audit(path, **options)
    except BadInput as problem:
        return problem
    assert all(finding["code"] in CODES for finding in result.findings)
    json.dumps(result.plain())
    return result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "room.jsonl"


# -- anything in a file ---------------------------------------------------------------------------------------------


@st.composite
def ledgers(draw: st.DrawFn) -> bytes:
    """Draw a ledger with lines cut, repeated, swapped, changed in their bytes or their values, or put between."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(lines) - 1))
        line = lines[place]
        match draw(st.sampled_from(["value", "bytes", "drop", "repeat", "swap", "insert", "end"])):
            case "value":
                try:
                    plain = json.loads(line)
                except ValueError:
                    continue
                written = draw(st.sampled_from([canonical, lambda value: json.dumps(value).encode()]))
                lines[place] = written(draw(changes(plain))) + b"\n"
            case "bytes":
                at = draw(st.integers(0, len(line)))
                lines[place] = line[:at] + draw(st.binary(max_size=6)) + line[at + draw(st.integers(0, 6)) :]
            case "drop" if len(lines) > 1:
                del lines[place]
            case "repeat":
                lines.insert(place, line)
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[place], lines[other] = lines[other], lines[place]
            case "insert":
                lines.insert(
                    place,
                    draw(st.sampled_from([b"\n", b"{}\n", b"[" * 200 + b"\n", b'{"checkpoint":{}}\n', b"\xff\n"])),
                )
            case _:
                lines[-1] = lines[-1].rstrip(b"\n")
    return b"".join(lines)


@fuzzed(short=120, long=50_000)
def test_a_changed_ledger_gets_a_verdict_and_is_not_verified(examples: settings, tmp_path_factory: Any) -> None:
    """Nothing but a verdict or bad input comes out of an audit; verified is only what has its every byte."""
    file = tmp_path_factory.mktemp("fuzz") / "room.jsonl"

    @examples
    @given(ledgers())
    def holds(data: bytes) -> None:
        result = audited(file, data, roster=ROSTER)
        if data == b"".join(LINES):
            assert isinstance(result, AuditResult) and result.verdict == "verified"
        elif isinstance(result, AuditResult):
            assert result.verdict != "verified"

    holds()


@fuzzed(short=100, long=50_000)
def test_any_bytes_are_no_ledger(examples: settings, tmp_path_factory: Any) -> None:
    """Noise, with and without a header before it, is bad input or fails."""
    file = tmp_path_factory.mktemp("fuzz") / "room.jsonl"

    @examples
    @given(st.one_of(st.just(b""), st.just(LINES[0])), st.binary(max_size=200))
    def holds(header: bytes, noise: bytes) -> None:
        result = audited(file, header + noise)
        assert isinstance(result, BadInput) or result.verdict in ("failed", "incomplete")

    holds()


VIEWS = [
    ["audit", "LEDGER"],
    ["audit", "LEDGER", "--json", "--strict"],
    ["audit", "LEDGER", "--as-of", "2026-12-01T00:00:00Z", "--commitments"],
    ["audit", "LEDGER", "--diff", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
    ["audit", "LEDGER", "--csv", "OUT.csv", "--graph", "OUT.svg"],
    ["audit", "LEDGER", "--graph", "OUT.dot", "--json"],
    ["explain", "pay", "LEDGER"],
    ["explain", "paper", "LEDGER"],
    ["check", "LEDGER"],
]


def shown(arguments: list[str], folder: Path, patch: pytest.MonkeyPatch) -> int:
    """Run the command line here with *arguments*; a traceback would escape as what raised it."""
    names = {"LEDGER": str(folder / "room.jsonl")}
    said = [names.get(part, part.replace("OUT", str(folder / "out"))) for part in arguments]
    patch.setattr(sys, "argv", ["swarm", *said])
    with pytest.raises(SystemExit) as left:
        swarm.cli.main()
    code = left.value.code
    assert isinstance(code, int)
    return code


@fuzzed(short=25, long=5_000)
def test_no_view_of_a_changed_ledger_shows_a_traceback(examples: settings, told: Script, tmp_path_factory: Any) -> None:
    """Every view of the command line bears a ledger changed in its file, or one whose members signed strange things."""
    folder = tmp_path_factory.mktemp("fuzz")

    @examples
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        if data.draw(st.booleans()):
            (folder / "room.jsonl").write_bytes(data.draw(ledgers()))
        else:
            place = data.draw(st.integers(0, len(told.said) - 1))
            body = data.draw(changes(told.said[place].body))
            if not isinstance(body, dict) or type(body.get("kind")) is not str:
                return
            try:
                fold = retold(told, place, body)
            except BadEntry:
                return
            assert fold is not None
            write(fold, folder / "room.jsonl", OUTSIDER)
        with pytest.MonkeyPatch.context() as patch:
            assert shown(data.draw(st.sampled_from(VIEWS)), folder, patch) in EXITS

    holds()


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_a_ledger_at_the_end_of_the_calendar_is_shown(
    year: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deadlines that lie beyond the calendar are nothing that a view fails at."""
    at = {"0001": -62_135_596_800_000_000, "9999": 253_402_300_799_000_000}[year]
    table = Table(at=at, watch_seconds=315_360_000, step_seconds=31_536_000)
    table.finish()
    table.write(tmp_path / "room.jsonl")
    for view in VIEWS:
        assert shown(view, tmp_path, monkeypatch) == {"audit": 3, "explain": 2}.get(view[0], 0)


# -- no field of a verified ledger can be another -------------------------------------------------------------------


def check_fields(file: Path, lines: list[bytes], roster: dict[str, str], *, all_ways: bool) -> dict[str, int]:
    """Audit *lines* with every single field changed, written canonically as any honest tool would; count the ends.

    Not *all_ways*: of a record's field one way each, another one for the next field.
    """
    ends: dict[str, int] = {}
    plains = [json.loads(line) for line in lines]
    turn = 0
    for number, plain in enumerate(plains):
        neighbour = plains[number + 1 if number + 2 < len(plains) else number - 1]
        for ways in one_field_changed(plain, neighbour):
            turn += 1
            record = 0 < number < len(lines) - 1
            for what, other in ways if all_ways or not record else [ways[turn % len(ways)]]:
                line = canonical(other) + b"\n"
                assert line != lines[number], what
                result = audited(file, b"".join([*lines[:number], line, *lines[number + 1 :]]), roster=roster)
                end = "bad input" if isinstance(result, BadInput) else result.verdict
                # Only what is no ledger any more, by its first line, is bad input; all else contradicts a signature.
                assert end == "failed" or (end == "bad input" and number == 0), (number, what, end)
                ends[end] = ends.get(end, 0) + 1
    return ends


def test_no_single_field_of_a_verified_ledger_can_be_another(file: Path) -> None:
    """Every field of the header, the records and the checkpoint is covered: nothing stays verified, nothing incomplete.

    Each field is changed in one way, those of header and checkpoint in all; the long test makes all changes.
    """
    assert audit(GOOD, roster=ROSTER).verdict == "verified"
    ends = check_fields(file, LINES, ROSTER, all_ways=False)
    assert ends["failed"] > 400 and 0 < ends["bad input"] < 20


@pytest.mark.long
def test_no_single_field_of_two_verified_ledgers_can_be_another(file: Path, told: Script) -> None:
    """The same, all changes, of a ledger of promises and one with seals, a decision and improvements."""
    assert check_fields(file, LINES, ROSTER, all_ways=True)["failed"] > 3_500
    fold = retold(told, 1, told.said[1].body)
    assert fold is not None
    write(fold, file, OUTSIDER)
    lines, roster = file.read_bytes().splitlines(keepends=True), {name: key for key, name in fold.names.items()}
    assert audit(file, roster=roster).verdict == "verified"
    assert check_fields(file, lines, roster, all_ways=True)["failed"] > 10_000


def test_a_field_written_otherwise_fails_too(file: Path) -> None:
    """The same content in other bytes is another ledger: spaces, escapes, order of members, a longer number."""
    for number, line in enumerate(LINES):
        plain = json.loads(line)
        turned = json.dumps(dict(reversed(plain.items())), separators=(",", ":")).encode()
        spaced = json.dumps(plain, sort_keys=True).encode()
        escaped = (
            line[:-1].replace(b'"a', b'"\\u0061', 1) if b'"a' in line else line[:-1].replace(b'"l', b'"\\u006c', 1)
        )
        for other in (turned, spaced, escaped, line[:-1] + b" ", line[:-1] + b"\r"):
            if other == line[:-1]:
                continue
            result = audited(file, b"".join([*LINES[:number], other + b"\n", *LINES[number + 1 :]]), roster=ROSTER)
            assert number == 0 if isinstance(result, BadInput) else result.verdict == "failed", (number, other[:40])


def test_no_field_of_a_receipt_can_be_another(file: Path, tmp_path: Path) -> None:
    """A receipt with any field changed is refused; it never silently counts for less, nor for more."""
    table = Table().finish()
    table.write(file)
    receipt = tmp_path / "receipt.json"
    line = canonical(table.receipt("cyd").plain()) + b"\n"
    receipt.write_bytes(line)
    assert audit(file, roster=table.roster, receipts=[receipt]).covered_to == len(table.log)
    theirs = sign_checkpoint(OUTSIDER, room=table.room, count=3, head="0" * 64).plain()
    for what, other in chain.from_iterable(one_field_changed(json.loads(line), theirs)):
        receipt.write_bytes(canonical(other) + b"\n")
        result = audited(file, file.read_bytes(), roster=table.roster, receipts=[receipt])
        assert isinstance(result, BadInput) or result.verdict == "failed", what
