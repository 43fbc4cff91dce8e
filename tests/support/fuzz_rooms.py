"""A room in which everything is said that can be, and its retelling with some of it changed and all signed anew."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from protocols.core.findings import CODES
from protocols.core.instants import Instant, parse_instant
from protocols.duties.duties import CloseDuty, RatifyDuty
from protocols.messages.concord import reserve_digest
from protocols.messages.room import room_name, seal_digest
from protocols.views.summary import summary_of
from swarm.ledger.chain import HEAD_0
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.running.running import run
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import sign_entry
from swarm.signed.identity import Identity

_PROMISE = {"id": "table", "debtor": "bob", "creditor": "ann", "then": "booked within 4 seconds of agreed"}
SCENARIO: dict[str, Any] = {
    "room": "fuzz",
    "intent": "Decide where the three of us eat.",
    "agenda": ["accord", "concord", "commitments"],
    "terms": ["near"],
    "issues": {"price": {"from": 10, "to": 30, "step": 10, "unit": "EUR"}, "day": ["today", "2"]},
    "authority": {"issues": {"price": "cyd"}, "terms": {"near": "ann"}},
    "events": {
        "booked": {"by": "bob", "confirmed_by": "ann", "confirm_within": "2 seconds", "silence": "denies"},
        "paid": {"by": "ann"},
    },
    "powers": {"suspend": ["ann"]},
    "promises": [
        {"id": "pay", "debtor": "ann", "creditor": "bob", "if": "booked", "then": "paid within 9 seconds of booked"}
    ],
    "rules": {"bar": 40, "improvements": 2, "step_seconds": 5, "watch_seconds": 2},
    "status_quo": {"title": "Stay in", "offer": {"price": 10, "day": "today"}},
    "members": [
        {
            "name": name,
            "agent": "scripted",
            "reads": {
                "task": {"meaning": "One place for all three."},
                "near": {
                    "meaning": f"At most {minutes} minutes.",
                    "bounds": {"walk": {"max": minutes, "unit": "min"}},
                    "cases": [{"text": f"{minutes + 1} minutes", "applies": False, "values": {"walk": minutes + 1}}],
                },
            },
            "settles": {"near": {"rule": "ann"} if name == "ann" else {"adopt": "ann", "because": "It is late."}},
            "proposes": {
                "title": title,
                "offer": {"day": day, **({"price": 20} if name == "cyd" else {})},
                "commitments": [_PROMISE] if name == "bob" else [],
            },
            "reserve": 20,
            "scores": {title: 90, "Stay in": 30, "otherwise": 60},
            "reasons": {title: "It is mine."},
            "improves": [{"title": "Both", "offer": {"day": "2", "price": 10}}] if name == "cyd" else [],
            "performs": [{"event": "booked", "when": "agreed"}]
            if name == "bob"
            else [{"event": "paid", "when": "booked"}]
            if name == "ann"
            else [],
        }
        for name, minutes, title, day in (
            ("ann", 5, "Noodles", "today"),
            ("bob", 10, "Soup", "2"),
            ("cyd", 15, "Salad", "2"),
        )
    ],
}


@dataclass(frozen=True)
class Saying:
    """One thing said: by whom, when (the log's time is the author's own), and what."""

    author: str
    at: Instant
    body: dict[str, Any]


@dataclass(frozen=True)
class Script:
    """What was said in a room, the opening first, and the keys to say it again."""

    keys: dict[str, Identity]
    said: list[Saying]


def script(folder: Path) -> Script:
    """Run the scenario once in *folder*, and take down what its members said."""
    ledger, made = folder / "fuzz.jsonl", list[Identity]()

    init = Identity.__init__

    def kept(identity: Identity, seed: bytes) -> None:
        init(identity, seed)
        made.append(identity)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Identity, "__init__", kept)
        result = run(SCENARIO, memory=True, ledger=ledger)
    assert result.outcome == "agreed", result.reason
    keys = {key.public: key for key in made}
    entries = [json.loads(line)["entry"] for line in ledger.read_bytes().splitlines()[1:-1]]
    said = [Saying(entry["author"], parse_instant(entry["sent"]), entry["body"]) for entry in entries]
    return Script(keys, said)


def further(script: Script) -> Script:
    """Return *script* with one of every act on promises at its end, which the run itself had no need of."""
    at = script.said[-1].at
    by = dict(zip(("ann", "bob", "cyd"), (entry["key"] for entry in script.said[0].body["roster"]), strict=True))
    acts: list[tuple[str, dict[str, Any]]] = [
        (
            "bob",
            {
                "kind": "commitment.create",
                "commitments": [{**_PROMISE, "id": "more", "each": "n", "if": "paid", "then": "booked(n >= 1)"}],
            },
        ),
        ("ann", {"kind": "event.report", "event": "paid", "attributes": {"n": "7"}}),
        ("bob", {"kind": "commitment.delegate", "commitment": "more[7]", "to": "cyd"}),
        ("cyd", {"kind": "commitment.accept", "commitment": "more[7]", "offer": "0" * 64}),
        ("ann", {"kind": "commitment.suspend", "commitment": "more[7]", "until": "2030-01-01T00:00:00Z"}),
        ("ann", {"kind": "commitment.resume", "commitment": "more[7]"}),
        ("ann", {"kind": "commitment.assign", "commitment": "more[7]", "to": "cyd", "because": "x"}),
        ("bob", {"kind": "event.report", "event": "booked", "attributes": {"n": "7", "amount": "12.50"}}),
        ("ann", {"kind": "event.dispute", "report": "0" * 64, "because": "x"}),
        ("ann", {"kind": "event.confirm", "report": "0" * 64}),
        ("ann", {"kind": "event.decide", "report": "0" * 64, "holds": True}),
        ("bob", {"kind": "commitment.cancel", "commitment": "more", "because": "x"}),
        ("ann", {"kind": "commitment.release", "commitment": "pay"}),
        ("bob", {"kind": "commitment.waive", "commitment": "table"}),
        ("cyd", {"kind": "room.excuse", "step": "room.closing", "because": "x"}),
        ("cyd", {"kind": "room.leave", "because": "x"}),
        ("ann", {"kind": "room.tick"}),
        ("ann", {"kind": "concord.pass", "step": "concord.improve.1", "standing": "0" * 64}),
        ("ann", {"kind": "room.decline", "step": "room.joining", "because": "x"}),
    ]
    said = [Saying(by[name], at + 1_000 * place, body) for place, (name, body) in enumerate(acts, 1)]
    return Script(script.keys, script.said + said)


def retold(script: Script, at: int, body: Any, after: Callable[[Fold], None] = lambda fold: None) -> Fold | None:
    """Say everything again, with *body* in the place *at*; what follows from it is brought in line with it.

    *after* looks at the room after every record. Returns None if the opening is none: then `Fold.open` has raised
    `BadEntry`, which is passed on to the caller only if *at* was another place.
    """
    bodies = [dict(saying.body) for saying in script.said]
    bodies[at] = body
    opener = script.said[0].author
    room = _named(opener, bodies[0]) if at == 0 else room_name(bodies[0]["slug"], opener, bodies[0])
    _seal(script, bodies, room, at)
    fold: Fold | None = None
    opening_id = ""
    for place, (saying, said) in enumerate(zip(script.said, bodies, strict=True)):
        if fold is not None and place != at:
            said = _in_line(fold, saying, said, opening_id)
        stored = spoken(script, fold, saying, said, room)
        if fold is None:
            fold = Fold.open(stored, room)
            opening_id = fold.last.id
        else:
            fold.add(stored)
        after(fold)
    return fold


def spoken(script: Script, fold: Fold | None, saying: Saying, body: Any, room: str) -> Stored:
    """Return the record in which the author of *saying* says *body* next in *fold*."""
    chain = None if fold is None else fold.chain
    known = chain is not None and saying.author in chain.authors
    ids = chain.authors[saying.author].ids if chain is not None and known else []
    entry = sign_entry(
        script.keys[saying.author],
        room=room,
        n=len(ids) + 1,
        prev=ids[-1] if ids else None,
        seen=(0, HEAD_0) if chain is None else (chain.position, chain.head),
        sent=saying.at,
        body=body,
    )
    return Stored(1 if chain is None else chain.position + 1, saying.at, saying.author, entry.payload)


def step_by_step(script: Script) -> Iterator[tuple[Fold, Saying, dict[str, Any]]]:
    """Say everything again, and yield before each saying but the first the fold so far, and what is to be said."""
    opener, bodies = script.said[0].author, [dict(saying.body) for saying in script.said]
    room = room_name(bodies[0]["slug"], opener, bodies[0])
    fold = Fold.open(spoken(script, None, script.said[0], bodies[0], room), room)
    opening_id = fold.last.id
    for saying, said in zip(script.said[1:], bodies[1:], strict=True):
        body = _in_line(fold, saying, said, opening_id)
        yield fold, saying, body
        fold.add(spoken(script, fold, saying, body, room))


def unsealed(fold: Fold, author: str, body: dict[str, Any]) -> None:
    """Let the seal of *author* in *fold* be one of what *body* reveals, so that it gets to the rules."""
    room = fold.room
    for each in [] if room.stage is None else room.stage.rounds():
        if room.step is not None and each.reveal_step == room.step.id:
            with suppress(Exception):
                said = seal_digest(fold.chain.room, author, each.seal_step, body["nonce"], body["content"])
                each.seals[fold.names[author]] = said


def _named(opener: str, body: Any) -> str:
    with suppress(Exception):
        return room_name(body["slug"], opener, body)
    return "fuzz-" + "a" * 26


def _seal(script: Script, bodies: list[Any], room: str, changed: int) -> None:
    """Let seals fit what is revealed, and proposals the reserves that are opened, whatever was changed of either."""
    reveals = {
        (saying.author, saying.body["step"]): place
        for place, saying in enumerate(script.said)
        if saying.body["kind"] == "reveal"
    }
    with suppress(Exception):
        for (author, step), place in reveals.items():
            ballot = reveals.get((author, "concord.ballot.1.reveal"))
            if step == "concord.option.reveal" and ballot is not None and changed not in (place, ballot):
                opened = bodies[ballot]["content"]["reserve"]
                content = dict(bodies[place]["content"])
                content["reserve"] = reserve_digest(room, author, opened.get("reserve"), opened["nonce"])
                bodies[place] = {**bodies[place], "content": content}
    for place, saying in enumerate(script.said):
        if saying.body["kind"] == "seal" and place != changed:
            revealed = reveals.get((saying.author, saying.body["step"].removesuffix("seal") + "reveal"))
            if revealed is None:
                continue
            with suppress(Exception):
                said = bodies[revealed]
                digest = seal_digest(room, saying.author, saying.body["step"], said["nonce"], said["content"])
                bodies[place] = {**bodies[place], "digest": digest}


def _in_line(fold: Fold, saying: Saying, said: dict[str, Any], opening_id: str) -> dict[str, Any]:
    """Return *said* with the digests that the room now gives, where it has any."""
    if said["kind"] == "room.join":
        return {**said, "opening": opening_id}
    if said["kind"].startswith("event.") and "report" in said:
        reports = [r.id for r in fold.records if r.entry is not None and r.entry.kind == "event.report"]
        return {**said, "report": reports[-1]} if reports else said
    if said["kind"] == "commitment.accept":
        offers = [r.id for r in fold.records if r.entry is not None and r.entry.kind == "commitment.delegate"]
        return {**said, "offer": offers[-1]} if offers else said
    if said["kind"] in ("concord.ratify", "room.close") and saying.author in fold.names:
        for duty in fold.room.duties(fold.names[saying.author]):
            if isinstance(duty, RatifyDuty) and said["kind"] == "concord.ratify":
                return {**said, "outcome": duty.digest}
            if isinstance(duty, CloseDuty) and said["kind"] == "room.close":
                return {**said, "digest": duty.digest}
    return said


def look(fold: Fold) -> None:
    """Ask the room everything that a peer or an auditor asks of it; what it finds has a code in the table."""
    room = fold.room
    for member in room.setting.members:
        room.duties(member)
        room.allowance(member)
    room.deadline()
    room.moving()
    assert room.over in (True, False)
    assert all(finding.code in CODES for finding in room.findings)


def look_back(fold: Fold) -> None:
    """Look at the whole, as run and audit do; what they show is JSON."""
    json.dumps(summary_of(fold.room))


def write(fold: Fold, path: Path, exporter: Identity) -> None:
    """Write *fold* as a ledger that *exporter* closes."""
    chain = fold.chain
    closing = sign_checkpoint(exporter, room=chain.room, count=chain.position, head=chain.head)
    write_ledger(path, chain.room, fold.records, closing)
