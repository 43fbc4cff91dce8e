"""One room as its members were shown it: the same beginning, and then what a test lets each log hold.

``python -m tests.support.forked_rooms`` writes the two ledgers and the proof of the page for auditors.
"""

from pathlib import Path

from swarm.ledger.equivocation import find_proofs, write_proofs
from swarm.signed.entry import Entry
from tests.support.signed_rooms import MILLISECOND, Table

NAMES = ("ann", "bob", "cyd")


def room() -> Table:
    """The room up to its first common record, always the same: ann has opened it, and bob has said something."""
    table = Table(*NAMES)
    table.say("bob")
    return table


def words(table: Table, *names: str) -> list[Entry]:
    """What *names* sign next, none having seen the others' words."""
    return [table.sign(name, sent=table.now + MILLISECOND) for name in names]


def shown(*entries: Entry | tuple[Entry, int], then: tuple[str, ...] = ()) -> Table:
    """The room going on with *entries*, stored a millisecond apart or so much later; *then* these speak, in turn."""
    table = room()
    for each in entries:
        entry, later = each if isinstance(each, tuple) else (each, 0)
        table.now += MILLISECOND
        table.store(entry.author, entry.payload, at=table.now + later)
    for name in then:
        table.say(name)
    return table


def written(folder: Path, **tables: Table) -> list[str]:
    """Write each room's ledger under its name, exported by ann's key or, where bob's view it is, by bob's."""
    return [
        str(table.write(folder / f"{name}.jsonl", exporter=table.identities.get(name)))
        for name, table in tables.items()
    ]


def main(folder: Path) -> None:
    """Write what a broker showed ann and cyd: bob's words at two times, after which all three go on; and a proof."""
    (bob,) = words(room(), "bob")
    apart = folder / "apart"
    apart.mkdir(exist_ok=True)
    one, other = shown(bob, then=("ann", "bob", "ann")), shown((bob, 90_000), then=("cyd", "cyd"))
    paths = written(apart, ann=one, cyd=other)
    (apart / "roster.yaml").write_text("".join(f"{name}: {key}\n" for name, key in one.roster.items()))
    assert find_proofs([Path(path) for path in paths]) == []
    forked = folder / "forked.jsonl"
    write_proofs(folder / "proof.json", [found.proof for found in find_proofs([forked])])


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[1] / "ledgers")
