"""What became of records whose signed head is not the file's: lost, moved, put in, re-dated or altered, in words."""

from hashlib import sha256
from itertools import islice
from pathlib import Path

from swarm.auditing.signatures import Denial
from swarm.errors import BadEntry
from swarm.ledger.differing import Place, how_changed
from swarm.ledger.file import LedgerReader
from swarm.ledger.fold import Fold


def what_became(path: Path, fold: Fold, denial: Denial, first: int) -> BadEntry:
    """Return what became of the records from *first* on whose head *denial* signs otherwise: as code and in words.

    *first* is the first record that the denial may be about; what stands before it, its author has signed.
    """
    who, last = denial.name, _last(denial)
    first = min(first, last)
    if first < 1:
        return BadEntry("altered", f"not what {who} signed")
    places, entries = [], 0
    for claimed in islice(LedgerReader(path), first - 1, last + 1):
        places.append(Place(claimed.stored, claimed.author, sha256(claimed.payload).hexdigest()))
        entries += claimed.entry and claimed.position <= last
    how = how_changed(fold.chain.heads[first - 1], first, places, denial.head, denial.seen, who)
    beyond = denial.position and denial.seen >= denial.position
    if how is not None and how.code == "added" and beyond:
        # It has itself seen what stands after it: not put in, but moved.
        return BadEntry("reordered", f"not in the order that {who} signed")
    if how is not None:
        return how
    gaps = (f.position for f in fold.room.findings if f.code == "chain_gap")
    if (denial.position and denial.seen > denial.position) or any(at >= first for at in gaps):
        return BadEntry("missing", f"not all that {who} signed: at least one is missing")
    if entries < last - first + 1:
        return BadEntry("altered", f"not what {who} signed, or at other times")
    text = f"whole and in order, but not at the times that {who} signed, or another stands in place of one"
    return BadEntry("redated", text)


def _last(denial: Denial) -> int:
    """Return the last record of this file that the denial is about."""
    return min(denial.seen, denial.position) if denial.position else denial.seen
