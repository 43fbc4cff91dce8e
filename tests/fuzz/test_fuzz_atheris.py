"""The coverage-guided fuzzer still runs, where it is installed, and finds nothing in a few seconds."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LEDGER = HERE.parent / "ledgers" / "good.jsonl"


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed: the extra fuzz")
@pytest.mark.parametrize("runs", [300, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_the_guided_fuzzer_finds_nothing(runs: int, tmp_path: Path) -> None:
    """From true inputs of each kind on, whatever opens new code ends in our own errors."""
    lines = LEDGER.read_bytes().splitlines(keepends=True)
    entries = [json.dumps(json.loads(line)["entry"], sort_keys=True, separators=(",", ":")) for line in lines[1:4]]
    seeds = [entries[1].encode(), json.dumps(json.loads(entries[1])["body"]).encode(), b"".join(lines[:4])]
    seeds += [
        b'\x07{"id":1,"answer":{"scores":{"a":1}}}',
        b"paid(n >= 1) by 2026-01-01T00:00:00Z",
        b"parties: [a, b]\nhistory: []",
    ]
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for kind, seed in enumerate(seeds):
        (corpus / str(kind)).write_bytes(bytes([kind]) + seed)
    command = [sys.executable, str(HERE / "atheris_entry.py"), f"-runs={runs}", "-seed=1", "-max_len=4096"]
    environment = os.environ | {"PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/", str(corpus)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert "DONE" in done.stderr
