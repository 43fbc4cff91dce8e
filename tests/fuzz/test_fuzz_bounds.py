"""What is too large or too many is refused before it costs much: memory is bounded by the size of what was sent."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.wire import parse_answer
from protocols.commitments.conditions import parse
from protocols.messages.bodies import parse_body
from swarm.auditing.auditing import audit
from swarm.errors import BadInput
from swarm.files.document import load
from swarm.files.table import decide
from swarm.ledger.file import LONGEST_LINE
from swarm.signed.entry import parse_entry
from swarm.signed.sizes import MAX_PAYLOAD_BYTES
from tests.support.signed_rooms import Table

KIB, MIB = 1024, 1024 * 1024


def peak(work: Callable[[], object]) -> int:
    """Return the most bytes that *work* held at once beyond what there was, whatever it raises."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        try:
            work()
        except ValueError as error:
            assert len(str(error)) < 10_000
        except Exception as error:
            assert type(error).__module__ in ("swarm.errors", "agents.agent"), error
            assert len(str(error)) < 10_000
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def filled(start: bytes, piece: bytes, end: bytes, size: int = MAX_PAYLOAD_BYTES) -> bytes:
    """Return *size* bytes or a little less: *start*, as many of *piece* as fit, *end*."""
    return start + piece * ((size - len(start) - len(end)) // len(piece)) + end


PAYLOADS = {
    "one text": filled(b'{"a":"', b"x", b'"}'),
    "one text that never ends": filled(b'{"a":"', b"x", b""),
    "one text of escapes": filled(b'{"a":"', b"\\u0041", b'"}'),
    "one backslash after another": filled(b'{"a":"', b"\\\\", b'"}'),
    "quotes": filled(b"", b'"', b""),
    "small texts": filled(b"[", b'"",', b'""]'),
    "small objects": filled(b"[", b"{},", b"{}]"),
    "small integers": filled(b"[", b"1,", b"1]"),
    "brackets": filled(b"", b"[", b""),
    "brackets, open and closed": filled(b"", b"[]", b""),
    "one key again and again": filled(b"{", b'"a":1,', b'"a":1}'),
    "one long integer": filled(b"[", b"7", b"]"),
    "one long fraction": filled(b"[1.", b"7", b"]"),
    "zero bytes": bytes(MAX_PAYLOAD_BYTES),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_of_the_largest_size_takes_a_bounded_amount(name: str) -> None:
    """256 KiB of the worst take at most a hundred times that, whatever is wrong with them; in fact less than half."""
    assert len(PAYLOADS[name]) > MAX_PAYLOAD_BYTES - 16
    assert peak(lambda: parse_entry(PAYLOADS[name])) < 24 * MIB


def test_a_payload_beyond_the_largest_size_takes_nothing() -> None:
    """10 MB are refused by their length alone."""
    payload = bytes(10 * MIB)
    assert peak(lambda: parse_entry(payload)) < 64 * KIB


def test_a_text_of_the_largest_size_takes_little() -> None:
    """Reading one long text keeps no trace of each of its characters."""
    assert peak(lambda: parse_entry(PAYLOADS["one text"])) < 4 * MIB


BODIES: dict[str, dict[str, Any]] = {
    "a roster of many": {"kind": "room.open", "roster": [{}] * 80_000},
    "authority of many": {"kind": "room.open", "authority": {"issues": {str(i): 1 for i in range(20_000)}}},
    "versions of many": {"kind": "room.open", "rules": {"versions": {str(i): 1 for i in range(20_000)}}},
    "settlements of many": {
        "kind": "accord.settle",
        "step": "accord.settle",
        "terms": {str(i): 1 for i in range(20_000)},
    },
    "quotes of many": {"kind": "concord.quote", "step": "concord.quote", "values": {str(i): [] for i in range(20_000)}},
    "attributes of many": {"kind": "event.report", "event": "x", "attributes": {str(i): 1 for i in range(20_000)}},
    "a kind of many letters": {"kind": "x" * 250_000},
    "a field of many letters": {"kind": "room.tick", "x" * 250_000: 1},
    "many fields": {"kind": "room.tick", **{str(i): 1 for i in range(30_000)}},
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_full_of_faults_takes_a_bounded_amount(name: str) -> None:
    """However much of a body is wrong, to say the first of it takes a bounded amount."""
    body = BODIES[name]
    assert len(json.dumps(body)) < 2 * MAX_PAYLOAD_BYTES

    def work() -> None:
        try:
            parse_body(body)
        except ValueError as error:
            raise ValueError(str(error)[:400]) from None

    assert peak(work) < 40 * MIB


@pytest.mark.parametrize(
    "line", [b"x" * 10 * MIB, b'{"entry":' + b"[" * 10 * MIB, b'{"author":"' + b"x" * 10 * MIB + b'"}\n']
)
def test_a_line_of_ten_megabytes_is_not_read(line: bytes, tmp_path: Path) -> None:
    """No more of a line is held than a record may have, be it the first or a later one."""
    table = Table().finish()
    lines = table.write(tmp_path / "room.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "room.jsonl").write_bytes(b"".join([*lines[:3], line, *lines[3:]]))
    assert peak(lambda: audit(tmp_path / "room.jsonl")) < 8 * LONGEST_LINE
    (tmp_path / "room.jsonl").write_bytes(line)
    assert peak(lambda: audit(tmp_path / "room.jsonl")) < 8 * LONGEST_LINE


ANSWERS = {
    "many scores": ("score", {"scores": dict.fromkeys(map(str, range(30_000)), 101)}),
    "many acts": ("perform", {"acts": [{"kind": "room.tick"}] * 12_000}),
    "a long kind": ("perform", {"acts": [{"kind": "x" * 1_000_000}]}),
    "many verdicts": ("read", {"verdicts": ["x"] * 60_000, "judgements": []}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_long_line_takes_a_bounded_amount(name: str) -> None:
    """What a command may write at the most does not fill its peer, however wrong it is."""
    act, answer = ANSWERS[name]
    line = json.dumps({"id": 1, "answer": answer})
    assert len(line) > 256 * KIB and peak(lambda: parse_answer(act, line, 1)) < 64 * MIB


def test_one_long_text_of_a_file_takes_little_even_to_complain_of(tmp_path: Path) -> None:
    """Looking up the line of a fault keeps no trace of each character of a long text."""
    path = tmp_path / "table.json"
    path.write_bytes(b'{"x":\n"' + b"x" * 8 * MIB + b'"}')
    assert peak(lambda: decide(path)) < 80 * MIB
    path.write_bytes(b'{"x":"' + b"x" * 8 * MIB + b'",\n"y":1,"y":2}')
    assert peak(lambda: load(path)) < 80 * MIB


def test_a_file_of_many_values_is_told_what_is_wrong_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the number of places that are kept, a JSON file gets its complaint without a line, not another one."""
    monkeypatch.setattr("swarm.files.document.MAX_NODES", 1_000)
    path = tmp_path / "table.json"
    many = b"[" + b"1," * 1_001 + b"1]"
    for content, complaint in (
        (b'{"x":' + many + b',"y":1,"y":2}', "the key 'y' stands twice"),
        (b'{"x":' + many + b',"y":"\\ud83d"}', "a lone surrogate"),
        (b'{"x":' + many + b',"y":' + b"[" * 70 + b"]" * 70 + b"}", "nested deeper than 64"),
        (b'{"x":' + many + b"}", "unknown field 'x'"),
    ):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=complaint):
            decide(path)
    path.write_bytes(b'{"x":' + many + b',"y":"\\ud83d\\ude00"}')
    assert load(path).data["y"] == "😀"


@pytest.mark.parametrize(
    "text",
    [
        " or ".join(["a"] * 800),
        "(" + " or ".join(["a"] * 400) + ")" + " by 2026-01-01T00:00:00Z" * 60,
        "(" * 16 + "a" + ")" * 16 + " within 1 day of b" * 150,
        "(" * 4_000,
        '"' * 4_000,
        "a" * 4_000,
    ],
)
def test_a_condition_of_the_largest_size_takes_a_bounded_amount(text: str) -> None:
    """Four thousand characters of the worst take a few megabytes."""
    parse("a")
    assert len(text) <= 4_000 and peak(lambda: parse(text)) < 8 * MIB
