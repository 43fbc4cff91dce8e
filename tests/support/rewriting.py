"""True rooms with promises, and ledgers of them that some members wrote anew.

A `Deal` is a room whose every record its members sign by hand. `rewrite` makes of its log what a coalition can: it
leaves records out, stores them at other times, cuts the end, adds ticks, and signs again whatever is its own. What the
others said it can only take as it is, or leave out.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from protocols.duties import CloseDuty
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.signed.entry import parse_entry, sign_entry
from swarm.signed.identity import Identity
from tests.support.signed_rooms import MILLISECOND, SECOND, Table, replay, write_fold

TICK: dict[str, Any] = {"kind": "room.tick"}
PEOPLE = ("ann", "bob", "cyd", "dan")
WINDOW_S = 20


class Deal(Table):
    """A room in which each of *promises* is kept by a report: id → (debtor, creditor, whether that one confirms)."""

    def __init__(self, *names: str, promises: Mapping[str, tuple[str, str, bool]], salt: str = "") -> None:
        events = {
            f"{name}_done": {"by": debtor, **({"confirmed_by": creditor} if confirmed else {})}
            for name, (debtor, creditor, confirmed) in promises.items()
        }
        made = [
            {
                "id": name,
                "debtor": debtor,
                "creditor": creditor,
                "then": f"{name}_done within {WINDOW_S} seconds of agreed",
            }
            for name, (debtor, creditor, _) in promises.items()
        ]
        super().__init__(*names, salt=salt, opening={"events": events, "promises": made}, watch_seconds=600)
        self.reports: dict[str, str] = {}

    def settle(self) -> "Deal":
        """Let everyone join, promise, close and witness."""
        self.finish()
        return self

    def report(self, name: str, promise: str) -> str:
        """Let *name* report that *promise* was kept; return the report's id."""
        self.say(name, {"kind": "event.report", "event": f"{promise}_done", "attributes": {}})
        self.reports[promise] = self.fold.last.id
        return self.fold.last.id

    def confirm(self, name: str, promise: str) -> None:
        self.say(name, {"kind": "event.confirm", "report": self.reports[promise]})

    def later(self, seconds: int) -> None:
        self.now += seconds * SECOND

    def keys_of(self, names: Collection[str]) -> set[str]:
        return {self.key(name) for name in names}


def random_deal(random: Random, members: int) -> Deal:
    """A room of so many members in which some promises are kept, some not, in some order."""
    names = PEOPLE[:members]
    promises = {}
    for number in range(random.randint(1, 3)):
        debtor, creditor = random.sample(names, 2)
        promises[f"p{number}"] = debtor, creditor, random.random() < 0.7
    deal = Deal(*names, promises=promises, salt=str(random.random()))
    if random.random() < 0.8:
        deal.settle()
    else:  # Some of what is said about promises stands before the signatures.
        for _ in range(2):
            for name in names:
                deal.act(name)
    todo: list[Callable[[], object]] = []
    for name, (debtor, creditor, confirmed) in promises.items():
        if random.random() < 0.75:
            todo.append(lambda name=name, debtor=debtor: deal.report(debtor, name))
            if confirmed:
                todo.append(lambda name=name, creditor=creditor: name in deal.reports and deal.confirm(creditor, name))
    todo += [lambda: deal.later(random.randint(1, 12))] * random.randint(1, 3)
    for step in todo:
        step()
        for _ in range(random.randint(0, 2)):
            deal.say(random.choice(names))
    deal.finish()
    if random.random() < 0.5:
        deal.later(2 * WINDOW_S)
    for name in random.sample(names, random.randint(1, members)):
        deal.say(name)
    return deal


@dataclass
class Rewriting:
    """What a coalition makes of a log; positions are those of the true one.

    ``moved`` are so many microseconds by position; ``ticks`` are said at the end, each by a member of the coalition so
    many seconds after the one before.
    """

    coalition: Collection[str]
    left_out: Collection[int] = ()
    moved: Mapping[int, int] = field(default_factory=dict)
    cut: int | None = None
    ticks: Sequence[tuple[str, int]] = ()
    exporter: Identity | None = None
    as_of: str | None = None


def rewrite(true: Table, how: Rewriting) -> Fold:
    """Return the log that the coalition can show, folded: every entry of its own fits into it."""
    kept = [
        stored
        for stored in true.log
        if stored.sequence not in how.left_out and (how.cut is None or stored.sequence <= how.cut)
    ]
    assert kept[0].sequence == 1, "a room has its opening"
    by_key = {true.key(name): true.identities[name] for name in how.coalition}
    forged = Forged(true, by_key)
    for stored in kept:
        forged.take(stored, how.moved.get(stored.sequence, 0))
    for name, seconds in how.ticks:
        forged.tick(true.identities[name], seconds)
    return forged.fold


class Forged:
    """A log under way that a coalition makes, whose keys are *mine*."""

    def __init__(self, true: Table, mine: Mapping[str, Identity]) -> None:
        self.room, self.mine = true.room, mine
        self.ids: dict[str, str] = {}
        self.fold: Fold
        self._begun = False

    def take(self, stored: Stored, moved: int) -> None:
        """Take over one record of the true log, signed again where it can be."""
        at, payload = stored.stored + moved, stored.payload
        if not self._begun:
            self._begun = True
            self.fold = Fold.open(Stored(1, stored.stored, stored.author, payload), self.room)
            return
        if stored.author in self.mine:
            entry = parse_entry(payload)
            body = entry.body
            for old, new in self.ids.items():
                body = json.loads(json.dumps(body).replace(old, new))
            if body["kind"] == "room.close":
                body = self._closing(stored.author) or body
            payload = self._sign(self.mine[stored.author], body, at)
            self.ids[entry.id] = parse_entry(payload).id
        self._store(stored.author, payload, at)

    def _closing(self, author: str) -> dict[str, Any] | None:
        """The digest that this log gives: the coalition signs what suits it."""
        for duty in self.fold.room.duties(self.fold.names[author]):
            if isinstance(duty, CloseDuty):
                return {"kind": "room.close", "step": duty.step, "digest": duty.digest}
        return None

    def tick(self, identity: Identity, seconds: int) -> None:
        at = self.fold.room.at + seconds * SECOND
        self._store(identity.public, self._sign(identity, TICK, at), at)

    def _sign(self, identity: Identity, body: dict[str, Any], at: int) -> bytes:
        chain = self.fold.chain
        ids = chain.authors[identity.public].ids
        seen = (chain.position, chain.head)
        prev = ids[-1] if ids else None
        return sign_entry(identity, room=self.room, n=len(ids) + 1, prev=prev, seen=seen, sent=at, body=body).payload

    def _store(self, author: str, payload: bytes, at: int) -> None:
        self.fold.add(Stored(self.fold.chain.position + 1, at, author, payload))


def random_rewriting(random: Random, true: Deal, coalition: Sequence[str]) -> Rewriting:
    """Something that *coalition* may do to the log: whatever it likes with its own, and nothing to others' words."""
    last = len(true.log)
    moved: dict[int, int] = {}
    left_out: set[int] = set()
    how = random.choice(("middle", "all of one", "times", "any", "none"))
    if how in ("middle", "any"):
        left_out |= {random.randint(2, last) for _ in range(random.randint(1, 4))}
    if how == "all of one":
        # Everything that one of the others says from some place on.
        victim = random.choice([name for name in true.names if name not in coalition])
        start = random.randint(2, last)
        left_out |= {s.sequence for s in true.log[start - 1 :] if s.author == true.key(victim)}
    if how in ("times", "any"):
        for _ in range(random.randint(1, 3)):
            moved[random.randint(2, last)] = random.choice((1, -1, 15 * SECOND, -15 * SECOND, MILLISECOND))
    cut = random.randint(2, last) if random.random() < 0.4 else None
    ticks = [(random.choice(list(coalition)), random.choice((0, 1, 25))) for _ in range(random.randint(0, 4))]
    exporter = None if random.random() < 0.3 else true.identities[random.choice(list(coalition))]
    return Rewriting(coalition, left_out, moved, cut, ticks, exporter)


def written(path: Path, fold: Fold, exporter: Identity | None) -> Path:
    """Write the ledger of *fold*, closed by *exporter*: where None, by a key that nobody knows."""
    return write_fold(path, fold, exporter or Identity.new())


def prefix_of(true: Table, records: int) -> Fold:
    """Fold the first *records* records of the true log."""
    return replay(true.room, true.log[:records])


def common(true: Table, forged: Fold) -> int:
    """How many records the two logs have in common."""
    return next(
        (
            count - 1
            for count, (a, b) in enumerate(zip(true.fold.chain.heads, forged.chain.heads, strict=False))
            if a != b
        ),
        min(len(true.log), forged.chain.position),
    )


def coalitions(names: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """Every choice of members that leaves out at least one."""
    for chosen in range(1, 2 ** len(names) - 1):
        yield tuple(name for place, name in enumerate(names) if chosen >> place & 1)
