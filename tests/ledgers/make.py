"""Makes the frozen ledgers of this folder: python tests/ledgers/make.py FOLDER

They are kept as the format of their day: today's code must still read them and come to what `verdicts.json` says. So
this is run for a new format only, into a new folder; the old ledgers stay.

good      as a run wrote it
tampered  one amount in one record changed afterwards
forked    a member signed two different entries with one number (equivocation), after the end
torn      the last line cut off, as a full disk or a broken transfer would
unpinned  the same scenario among strangers: no roster of theirs is known
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from protocols.core.findings import CODES, Severity
from swarm.auditing.auditing import audit
from swarm.ledger.file import LedgerReader, write_ledger
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.running.running import run
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import sign_entry
from swarm.signed.identity import Identity

HERE = Path(__file__).parent
SCENARIO = HERE / "scenario.yaml"
SECOND = 1_000_000


def make(folder: Path) -> None:
    """Write all of it into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    good, roster = folder / "good.jsonl", folder / "roster.yaml"
    with tempfile.TemporaryDirectory() as keys:
        run(SCENARIO, ledger=good, roster=roster, directory=keys)
        printer = Identity.load(Path(keys, "keys", "00.key"))
    (folder / "tampered.jsonl").write_bytes(_tampered(good.read_bytes()))
    _fork(good, folder / "forked.jsonl", printer)
    (folder / "torn.jsonl").write_bytes(good.read_bytes()[:-40])
    run(SCENARIO, memory=True, ledger=folder / "unpinned.jsonl")
    (folder / "verdicts.json").write_text(json.dumps(verdicts(folder), indent=1) + "\n", encoding="utf-8")


def _tampered(content: bytes) -> bytes:
    """Return *content* with the first amount paid turned to another: a digit or two, nothing else."""
    assert content.count(b'"amount":"1250"') == 2
    return content.replace(b'"amount":"1250"', b'"amount":"2150"', 1)


def _fork(good: Path, path: Path, member: Identity) -> None:
    """Write *good* with one more record: a second entry under the number of the member's last one."""
    reader = LedgerReader(good)
    fold: Fold | None = None
    for claimed in reader:
        stored = Stored(claimed.position, claimed.stored, claimed.author, claimed.payload)
        if fold is None:
            fold = Fold.open(stored, reader.room)
        else:
            fold.add(stored)
    assert fold is not None
    chain = fold.chain
    ids = chain.authors[member.public].ids
    now = fold.last.stored + SECOND
    entry = sign_entry(
        member,
        room=chain.room,
        n=len(ids),
        prev=ids[-2],
        seen=(chain.position, chain.head),
        sent=now,
        body={"kind": "event.report", "event": "ordered", "attributes": {"sheets": "9000"}},
    )
    findings = fold.add(Stored(chain.position + 1, now, member.public, entry.payload))
    assert findings is not None and [finding.code for finding in findings] == ["equivocation"]
    checkpoint = sign_checkpoint(member, room=chain.room, count=chain.position, head=chain.head)
    write_ledger(path, chain.room, fold.records, checkpoint)


def verdicts(folder: Path) -> list[dict[str, object]]:
    """Return what an audit of each ledger says, with the roster and without."""
    found: list[dict[str, object]] = []
    for name in ("good", "tampered", "forked", "torn", "unpinned"):
        for pinned in (True, False):
            result = audit(folder / f"{name}.jsonl", roster=folder / "roster.yaml" if pinned else None)
            found.append(
                {
                    "ledger": f"{name}.jsonl",
                    "roster": "roster.yaml" if pinned else None,
                    "verdict": result.verdict,
                    "exit": result.exit_code(),
                    "exit_strict": result.exit_code(strict=True),
                    "entries": result.entries,
                    "complete": result.complete,
                    "covered_to": result.covered_to,
                    "commitments": {name: promise.state for name, promise in result.promises.items()},
                    "uncovered": result.uncovered,
                    "findings": sorted(
                        [f["code"], f["position"]] for f in result.findings if CODES[f["code"]][0] is not Severity.NOTE
                    ),
                }
            )
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1])
    make(target)
    if target.resolve() != HERE.resolve():
        shutil.copy(SCENARIO, target)
