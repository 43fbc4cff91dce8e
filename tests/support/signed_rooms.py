"""Small rooms whose every record the test signs itself, and ledgers of real runs with and without noise."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from protocols.core.findings import Finding
from protocols.duties.duties import CloseDuty, JoinDuty, PromiseDuty, WitnessDuty
from protocols.messages.room import RoomOpen
from swarm.auditing.auditing import AuditResult, audit
from swarm.ledger.chain import Record
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.memory import MemoryLog
from swarm.log.port import Stored
from swarm.seat.opening import sign_opening
from swarm.signed.checkpoint import Checkpoint, sign_checkpoint
from swarm.signed.entry import Entry, sign_entry
from swarm.signed.identity import Identity

NOON = 1_796_040_000_000_000
MILLISECOND = 1000
SECOND = 1_000_000
OUTSIDER = Identity(sha256(b"outsider").digest())

SCENARIO: dict[str, Any] = {
    "room": "lunch",
    "intent": "Decide where the three of us eat today.",
    "agenda": ["accord", "concord", "commitments"],
    "terms": ["near"],
    "events": {"booked": {"by": "bob", "confirmed_by": "ann"}},
    "rules": {"bar": 50, "improvements": 1, "step_seconds": 5, "watch_seconds": 5},
    "members": [
        {
            "name": name,
            "agent": "scripted",
            "reads": {
                "task": {"meaning": "One place for all three."},
                "near": {"meaning": f"At most {minutes} minutes on foot – {name} ✓ 🍜", "cases": []},
            },
            "proposes": {
                "title": place,
                "rationale": "It is good.",
                "commitments": [
                    {"id": "table", "debtor": "bob", "creditor": "ann", "then": "booked within 4 seconds of agreed"}
                ],
            },
            "scores": {place: 90, "otherwise": 60},
            "performs": [{"event": "booked", "when": "agreed"}] if name == "bob" else [],
        }
        for name, minutes, place in (("ann", 5, "Noodles"), ("bob", 10, "Soup"), ("cyd", 15, "Salad"))
    ],
}

NOISE = [
    b"\xff\xfe no text",
    b"[" * 10_000,
    b'{"v":' + b"7" * 5_000 + b"}",
    b'{"text":"\\ud83d"}',
    b'{"option":"A","option":"B"}',
    b"",
]


@dataclass(frozen=True)
class Ledger:
    """A written ledger; its lines, the header first."""

    path: Path
    roster: dict[str, str]
    lines: list[bytes]

    @property
    def records(self) -> range:
        """The numbers of the lines that hold records, which are their positions as well."""
        return range(1, len(self.lines) - 1)


class NoisyLog(MemoryLog):
    """A log on which somebody else writes under members' subjects, between what they say."""

    async def append(
        self, room: str, author: str, payload: bytes, *, expected_last: int, timeout_s: float = 5.0
    ) -> int:
        if expected_last and (number := self.store.last_sequence) % 4 == 0:
            await super().append(room, author, NOISE[number // 4 % len(NOISE)], expected_last=expected_last)
        return await super().append(room, author, payload, expected_last=expected_last, timeout_s=timeout_s)


class Table:
    """A room of a few members that only opens, joins, closes and witnesses, its time moved by hand."""

    def __init__(
        self, *names: str, salt: str = "", at: int = NOON, opening: dict[str, Any] | None = None, **rules: Any
    ) -> None:
        names = names or ("ann", "bob", "cyd")
        self.names = names
        self.identities = {name: Identity(sha256(f"{salt}/{name}".encode()).digest()) for name in names}
        self.now = at
        opened = RoomOpen.model_validate(
            {
                "slug": "table",
                "intent": "Sit together.",
                "roster": [{"name": name, "key": self.key(name)} for name in names],
                "agenda": ["commitments"],
                "rules": {"step_seconds": 60, "watch_seconds": 0, **rules},
                "nonce": sha256(salt.encode()).hexdigest(),
                **(opening or {}),
            }
        )
        self.opened = sign_opening(self.identities[names[0]], opened, self.now)
        self.room = self.opened.room
        self.log = [Stored(1, self.now, self.opened.author, self.opened.payload)]
        self.fold = Fold.open(self.log[0], self.room)

    def key(self, name: str) -> str:
        return self.identities[name].public

    @property
    def roster(self) -> dict[str, str]:
        return {name: self.key(name) for name in self.names}

    def sign(self, name: str, body: dict[str, Any] | None = None, **odd: Any) -> Entry:
        """Sign what *name* would say next; *odd* replaces fields of the envelope."""
        chain = self.fold.chain
        ids = chain.authors[self.key(name)].ids
        fields: dict[str, Any] = {
            "room": self.room,
            "n": len(ids) + 1,
            "prev": ids[-1] if ids else None,
            "seen": (chain.position, chain.head),
            "sent": self.now,
            "body": body or {"kind": "room.tick"},
        }
        return sign_entry(self.identities[name], **{**fields, **odd})

    def store(self, author: str, payload: bytes, *, at: int | None = None) -> list[Finding] | None:
        """Let the log store *payload* on the subject of the key *author*, and fold it."""
        stored = Stored(len(self.log) + 1, self.now if at is None else at, author, payload)
        self.log.append(stored)
        return self.fold.add(stored)

    def say(self, name: str, body: dict[str, Any] | None = None, *, at: int | None = None, **odd: Any) -> list[str]:
        """Sign, store and fold; return the codes of what was noteworthy."""
        self.now += MILLISECOND
        return codes(self.store(self.key(name), self.sign(name, body, **odd).payload, at=at))

    def act(self, name: str, **odd: Any) -> list[str]:
        """Do the duty that *name* has now: join, promise, close or witness; else a tick."""
        for duty in self.fold.room.duties(name):
            if isinstance(duty, JoinDuty):
                manifest = {"agent": "scripted"}
                said = {"kind": "room.join", "step": duty.step, "opening": duty.opening, "manifest": manifest}
                return self.say(name, said, **odd)
            if isinstance(duty, PromiseDuty):
                made = [terms.plain() for terms in duty.commitments]
                return self.say(name, {"kind": "commitment.create", "step": duty.step, "commitments": made}, **odd)
            if isinstance(duty, CloseDuty):
                return self.say(name, {"kind": "room.close", "step": duty.step, "digest": duty.digest}, **odd)
            if isinstance(duty, WitnessDuty):
                return self.say(name, {"kind": "room.witness", "step": duty.step}, **odd)
        return self.say(name, **odd)

    def finish(self) -> "Table":
        """Let everyone join, close and witness, as far as they have not."""
        while self.fold.room.step is not None:
            for name in self.names:
                if self.fold.room.step is not None and name in self.fold.room.step.awaited(list(self.names)):
                    self.act(name)
        return self

    def receipt(self, name: str) -> Checkpoint:
        chain = self.fold.chain
        return sign_checkpoint(self.identities[name], room=self.room, count=chain.position, head=chain.head)

    def write(self, path: Path, *, exporter: Identity | None = None) -> Path:
        """Write the ledger, closed by *exporter* (the opener)."""
        return write_fold(path, self.fold, exporter or self.identities[self.names[0]])


def replay(room: str, log: Iterable[Stored]) -> Fold:
    """Fold *log* from its beginning."""
    first, *rest = log
    fold = Fold.open(first, room)
    for stored in rest:
        fold.add(stored)
    return fold


def write_fold(path: Path, fold: Fold, exporter: Identity, records: list[Record] | None = None) -> Path:
    chain = fold.chain
    checkpoint = sign_checkpoint(exporter, room=chain.room, count=chain.position, head=chain.head)
    write_ledger(path, chain.room, fold.records if records is None else records, checkpoint)
    return path


def codes(findings: list[Finding] | None) -> list[str]:
    return [finding.code for finding in findings or ()]


def audited(path: Path, lines: Iterable[bytes], **options: Any) -> AuditResult:
    """Write *lines* as a ledger and audit it."""
    path.write_bytes(b"".join(lines))
    return audit(path, **options)


CHANGED = {"altered", "missing", "added", "reordered", "redated", "rolled_back", "checkpoint_mismatch"}
"""Codes that say of records in a ledger that they are not what was signed."""


def names_record(result: AuditResult, position: int) -> bool:
    """Tell whether a finding of a failed audit names the record at *position*, by itself or within a range."""
    for finding in result.findings:
        if finding["code"] not in CHANGED:
            continue
        words = finding["text"].split()
        if words[0] == "records" and words[2] == "to":
            first, last = int(words[1]), int(words[3])
            if finding["position"] == first <= position <= last:
                return True
        elif finding["position"] == position:
            return True
    return False


def tampered(line: bytes, **fields: Any) -> bytes:
    """Return a record line with some of what stands around its entry replaced."""
    plain = json.loads(line)
    entry = line[: line.rindex(b',"position":')]
    place = {"position": plain["position"], "stored": plain["stored"], **fields}
    return entry + f',"position":{place["position"]},"stored":"{place["stored"]}"}}\n'.encode()
