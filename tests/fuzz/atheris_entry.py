"""A coverage-guided fuzzer over payloads and ledger lines, where `atheris` is installed (Linux; the extra ``fuzz``).

    python tests/fuzz/atheris_entry.py [libFuzzer options, a corpus folder]
    python tests/fuzz/atheris_entry.py -max_total_time=3600 -max_len=4096 corpus/

The first byte chooses what reads the rest: an entry, a body, a ledger file, a line of a command, a condition, a file
that people write. Anything but our own errors ends the run, and libFuzzer keeps the input.
"""

import json
import os
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["swarm", "protocols", "agents"]):
    from agents.agent import BadAnswer
    from agents.wire import ANSWERS, BadLine, parse_answer
    from protocols.commitments.conditions import ConditionError, parse
    from protocols.core.canonical import canonical
    from protocols.messages.bodies import parse_body
    from swarm.auditing.auditing import audit
    from swarm.errors import BadEntry, BadInput
    from swarm.history.tracking import track
    from swarm.signed.entry import is_signed, parse_entry

ACTS = sorted(ANSWERS)
# A file in memory: `Fuzz` ends the process without tidying up.
FILE = Path(f"/proc/self/fd/{os.memfd_create('fuzz')}")


def entry(data: bytes) -> None:
    """Read an entry; what is taken is canonical."""
    try:
        is_signed(parse_entry(data))
    except BadEntry:
        return
    assert canonical(json.loads(data)) == data


def body(data: bytes) -> None:
    """Read a body of any kind."""
    try:
        plain = json.loads(data)
        canonical(plain)
    except (ValueError, RecursionError):
        return
    if isinstance(plain, dict):
        try:
            parse_body(plain)
        except ValueError:
            return


def ledger(data: bytes) -> None:
    """Audit a file; without the keys, nothing in it is verified."""
    FILE.write_bytes(data)
    try:
        assert audit(FILE).verdict != "verified"
    except BadInput:
        return


def answer(data: bytes) -> None:
    """Read a line of a command."""
    try:
        parse_answer(ACTS[data[0] % len(ACTS)] if data else "score", data[1:], 1)
    except (BadLine, BadAnswer):
        return


def condition(data: bytes) -> None:
    """Read a condition; what is read can be written and read again."""
    text = data.decode("utf-8", "replace")[:4_000]
    try:
        found = parse(text)
    except ConditionError:
        return
    # A control character in a value is read without quotes only, and written with them.
    if text.isprintable():
        assert parse(str(found)) == found


def history(data: bytes) -> None:
    """Read a file of YAML or JSON, down to the tracker."""
    FILE.write_bytes(data)
    try:
        track(FILE)
    except BadInput:
        return


READERS = (entry, body, ledger, answer, condition, history)


def one_input(data: bytes) -> None:
    """Give *data* to the reader that its first byte names."""
    if data:
        READERS[data[0] % len(READERS)](data[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
