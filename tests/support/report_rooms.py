"""Rooms played by hand, every answer signed here and the same each time: ordinary, hostile, and large ones."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from protocols.core.canonical import digest
from protocols.duties.duties import (
    CloseDuty,
    ImproveDuty,
    InterpretDuty,
    JoinDuty,
    ProposeDuty,
    RatifyDuty,
    ReadDuty,
    RevealDuty,
    ScoreDuty,
    SettleDuty,
    WitnessDuty,
)
from protocols.messages.concord import reserve_digest
from protocols.messages.room import RoomOpen, seal_digest
from swarm.ledger.file import write_ledger
from swarm.ledger.fold import Fold
from swarm.log.port import Stored
from swarm.seat.opening import sign_opening
from swarm.signed.checkpoint import sign_checkpoint
from swarm.signed.entry import sign_entry
from swarm.signed.identity import Identity

NOON = 1_796_040_000_000_000
MILLISECOND = 1000

HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<!--<img src=x onerror=\"document.title='owned'\">",
    '"><svg onload="document.title=1">&lt;&#x27;\'',
    "]]></style><style>body{display:none}</style></title></desc></svg>",
    "{{ 7*7 }}{% raw %}{0}{}",
    "evil \u202egnp.exe\u2066 ze\u200bro\u2060 wi\ufeffdth \U000e0041",
    '=HYPERLINK("http://x","y"), +1 -2 @3 \uff1d4',
    "javascript:document.title='owned'",
]
"""Texts that want to be more than text; most are of characters that a name may hold."""
WORD = "w" * 19_000


def nonce(*parts: object) -> str:
    """Return 32 bytes in hex that depend on *parts* only."""
    return sha256("/".join(map(str, parts)).encode()).hexdigest()


@dataclass
class Play:
    """A room and how its members answer; what is not given has a plain answer.

    ``meanings`` gives a member's interpretation of a term, ``scores`` and ``rejects`` what it thinks of a title,
    ``options`` its first option, ``improves`` what it proposes as its n-th improvement (None: it passes).
    """

    names: list[str]
    opening: Mapping[str, Any]
    meanings: Callable[[str, str], dict[str, Any]] = lambda name, term: {"meaning": f"What {term} means."}
    options: Callable[[str], dict[str, Any]] = lambda name: {"title": f"The way of {name}"}
    scores: Callable[[str, str], int] = lambda name, title: 90 if title.endswith(name) else 60
    rejects: Callable[[str, str], str | None] = lambda name, title: None
    reasons: Callable[[str, str], str | None] = lambda name, title: None
    reserves: Callable[[str], int | None] = lambda name: None
    improves: Callable[[str, int], dict[str, Any] | None] = lambda name, number: None
    settles: Callable[[str, str], dict[str, Any]] = lambda name, term: {"keep": True}
    silent: frozenset[str] = frozenset()
    cost: Mapping[str, Any] | None = None
    _contents: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _tries: int = 0

    def __post_init__(self) -> None:
        self.identities = {name: Identity(sha256(f"report/{name}".encode()).digest()) for name in self.names}
        self.now = NOON
        roster = [
            {"name": name, "key": identity.public, **self.opening.get("_of_each", {})}
            for name, identity in self.identities.items()
        ]
        given = {key: value for key, value in self.opening.items() if not key.startswith("_")}
        opening = RoomOpen.model_validate({"slug": "play", "roster": roster, "nonce": nonce("play"), **given})
        opened = sign_opening(self.identities[self.names[0]], opening, self.now)
        self.fold = Fold.open(Stored(1, self.now, opened.author, opened.payload), opened.room)

    def store(self, name: str, payload: bytes) -> None:
        """Put *payload* on the log under *name*'s subject."""
        self.now += MILLISECOND
        position = self.fold.chain.position + 1
        assert self.fold.add(Stored(position, self.now, self.identities[name].public, payload)) is not None

    def say(self, name: str, body: Mapping[str, Any], cost: Mapping[str, Any] | None = None) -> str:
        """Sign and store *body* as *name*; return the entry's id."""
        chain, identity = self.fold.chain, self.identities[name]
        ids = chain.authors[identity.public].ids
        entry = sign_entry(
            identity,
            room=chain.room,
            n=len(ids) + 1,
            prev=ids[-1] if ids else None,
            seen=(chain.position, chain.head),
            sent=self.now + MILLISECOND,
            body=dict(body),
            cost=None if cost is None and self.cost is None else dict(cost or self.cost or {}),
        )
        self.store(name, entry.payload)
        return entry.id

    def play(self, until: str = "") -> "Play":
        """Let everybody do what is asked, until nothing is or the step *until* is open; the silent keep silent."""
        while (step := self.fold.room.step) is not None and step.id != until:
            awaited = [name for name in step.awaited(self.fold.room.present) if name not in self.silent]
            if not awaited:
                self.now = step.deadline + 1
                self.say(self.names[0], {"kind": "room.tick"})
            for name in awaited:
                self._answer(name)
        return self

    def _answer(self, name: str) -> None:
        duty = self.fold.room.duties(name)[0]
        step = duty.step or ""
        body: dict[str, Any]
        match duty:
            case JoinDuty():
                manifest = self.opening.get("_manifest", {"agent": "play"})
                body = {"kind": "room.join", "opening": duty.opening, "manifest": manifest}
            case InterpretDuty():
                said = {term: self.meanings(name, term) for term in duty.terms}
                body = self._sealed(name, step, {"interpretations": said})
            case ReadDuty():
                verdicts = [case.verdict or "unsure" for case in duty.cases]
                body = self._sealed(name, step, {"verdicts": verdicts, "judgements": ["unsure"] * len(duty.meanings)})
            case SettleDuty():
                body = {"kind": "accord.settle", "terms": {term: self.settles(name, term) for term in duty.terms}}
            case ProposeDuty():
                key = self.identities[name].public
                hidden = reserve_digest(self.fold.chain.room, key, self.reserves(name), nonce("reserve", name))
                body = self._sealed(name, step, {"option": self.options(name), "reserve": hidden})
            case ScoreDuty():
                body = self._sealed(name, step, self._ballot(name, step, duty))
            case ImproveDuty():
                option = self.improves(name, self._tries + 1)
                self._tries += 1
                if option is None:
                    body = {"kind": "concord.pass", "standing": self.fold.room.concord.standing}
                else:
                    body = {"kind": "concord.improve", "option": option}
            case RevealDuty():
                content = self._contents[(name, duty.sealed_step)]
                body = {"kind": "reveal", "nonce": nonce(name, duty.sealed_step), "content": content}
            case RatifyDuty():
                outcome = digest(self.fold.room.concord.outcome().plain())
                body = {"kind": "concord.ratify", "outcome": outcome, "accept": True}
            case CloseDuty():
                body = {"kind": "room.close", "digest": duty.digest}
            case WitnessDuty():
                body = {"kind": "room.witness"}
            case _:
                raise AssertionError(f"nothing to answer {duty} with")
        self.say(name, {"step": step, **body})

    def _ballot(self, name: str, step: str, duty: ScoreDuty) -> dict[str, Any]:
        titles = {option.id: option.option.title for option in duty.options}
        rejects = {o: why for o, title in titles.items() if (why := self.rejects(name, title)) is not None}
        content: dict[str, Any] = {
            "scores": {o: self.scores(name, title) for o, title in titles.items() if o not in rejects},
            "rejects": rejects,
            "reasons": {o: why for o, title in titles.items() if (why := self.reasons(name, title)) is not None},
        }
        if step == "concord.ballot.1.seal" and (name, "concord.option.seal") in self._contents:
            reserve = self.reserves(name)
            opened = {"nonce": nonce("reserve", name)} | ({} if reserve is None else {"reserve": reserve})
            content["reserve"] = opened
        return content

    def _sealed(self, name: str, step: str, content: dict[str, Any]) -> dict[str, Any]:
        self._contents[(name, step)] = content
        key = self.identities[name].public
        sealed = seal_digest(self.fold.chain.room, key, step, nonce(name, step), content)
        return {"kind": "seal", "digest": sealed, "box": "AA"}

    def write(self, folder: Path, name: str = "play") -> tuple[Path, Path]:
        """Write the ledger and its roster; return both paths."""
        ledger, roster = folder / f"{name}.jsonl", folder / f"{name}.roster.yaml"
        chain = self.fold.chain
        exporter = self.identities[self.names[0]]
        checkpoint = sign_checkpoint(exporter, room=chain.room, count=chain.position, head=chain.head)
        write_ledger(ledger, chain.room, self.fold.records, checkpoint)
        roster.write_text(json.dumps({name: each.public for name, each in self.identities.items()}), encoding="utf-8")
        return ledger, roster


DAY = 86_400_000_000


def story(folder: Path) -> tuple[Path, Path]:
    """Write a room in which something of everything happens; the page of it is known by heart."""
    names = ["ann", "bob", "cyd", "dan"]
    meanings = {
        "ann": {"meaning": "Soon is this week.", "bounds": {"days": {"max": "7", "unit": "d"}},
                "cases": [{"text": "in ten days", "applies": False}]},
        "bob": {"meaning": "Soon is this month.", "bounds": {"days": {"max": "30", "unit": "d"}},
                "cases": [{"text": "in ten days", "applies": True}]},
    }  # fmt: skip
    promised = [
        {"id": "deliver", "debtor": "bob", "creditor": "ann", "then": "delivered within 2 days of agreed"},
        {"id": "refund", "debtor": "bob", "creditor": "ann", "if": "violated(deliver)",
         "then": "refunded within 3 days of violated(deliver)"},
        {"id": "pay", "debtor": "ann", "creditor": "bob", "if": "delivered", "then": "paid within 5 days of delivered"},
        {"id": "thank", "debtor": "cyd", "creditor": "bob", "then": "thanked within 1 days of agreed"},
        {"id": "clean", "debtor": "dan", "creditor": "ann", "then": "cleaned within 2 weeks of agreed"},
    ]  # fmt: skip
    options = {
        "ann": {"title": "Early", "offer": {"days": 5}},
        "bob": {"title": "Late", "offer": {"days": 30}, "commitments": promised},
        "cyd": {"title": "Middle", "offer": {"days": 10}, "commitments": promised},
        "dan": {"title": "Never mind", "offer": {"days": 30}, "commitments": promised[:1]},
    }
    scores = {
        "Early": (95, 20, 60, 50),
        "Late": (10, 95, 60, 50),
        "Middle": (60, 55, 90, 50),
        "Never mind": (30, 30, 30, 90),
        "Middle, sooner": (70, 65, 80, 62),
        "Middle, later": (50, 80, 80, 40),
    }
    better = {
        1: {"title": "Middle, sooner", "offer": {"days": 7}, "commitments": promised},
        2: {"title": "Middle, later", "offer": {"days": 20}, "commitments": promised},
    }

    def settle(name: str, term: str) -> dict[str, Any]:
        if term == "task" and name == "bob":
            ids = play.fold.room.accord.ids[term]
            return {"adopt": ids["ann"], "because": "Hers is the older one."}
        return {"keep": True}

    def meaning(name: str, term: str) -> dict[str, Any]:
        if term == "task":
            said = "Deliver and be done." if name != "bob" else "Deliver, then talk."
            return {"meaning": said, "cases": [{"text": "a call after", "applies": name == "bob"}]}
        return meanings.get(name, {"meaning": "Soon is soon."})

    play = Play(
        names,
        {
            "intent": "Agree when to deliver, soon.",
            "agenda": ["accord", "concord", "commitments"],
            "terms": ["soon"],
            "issues": {"days": {"values": [5, 7, 10, 20, 30], "unit": "d"}},
            "events": {
                "delivered": {"by": "bob", "confirmed_by": "ann"},
                **{event: {} for event in ("refunded", "paid", "thanked", "cleaned")},
            },
            "rules": {"bar": 50, "improvements": 2, "step_seconds": 60, "watch_seconds": 1_000_000},
            "_of_each": {"role": "wants it done"},
            "_manifest": {"agent": "play", "model": "by hand"},
        },
        meanings=meaning,
        options=lambda name: options[name],
        scores=lambda name, title: scores[title][names.index(name)],
        rejects=lambda name, title: "That is no delivery." if (name, title) == ("bob", "Never mind") else None,
        reasons=lambda name, title: "Too late for us." if (name, title) == ("ann", "Late") else None,
        reserves=lambda name: {"ann": 40, "bob": 50}.get(name),
        improves=lambda name, number: better.get(number),
        settles=settle,
        cost={"tokens_in": 100, "tokens_out": 20, "calls": 1, "seconds": "1.5", "model": "small"},
    )
    play.play(until="room.closing")
    late = play.fold.room.closed["concord.ballot.1.reveal"].id
    play.say("dan", {"kind": "reveal", "step": late, "nonce": nonce("x"), "content": {}})
    play.play()
    play.say("cyd", {"kind": "event.report", "event": "thanked"})
    play.now += 2 * DAY
    play.say("ann", {"kind": "room.tick"})
    play.now += DAY
    report = play.say("bob", {"kind": "event.report", "event": "refunded"})
    play.say("ann", {"kind": "event.confirm", "report": report})
    return play.write(folder, "story")


def hostile(folder: Path) -> tuple[Path, Path]:
    """Write a room whose every field holds text that wants to be more, or is very long."""
    a, b, c, d, e, f, g, h = HOSTILE
    names = ["<b>ann</b>", "bob\"'&amp;", "=cyd+1"]
    long = {"meaning": WORD, "cases": [{"text": c, "applies": True}, {"text": WORD, "applies": False}]}
    terms = {"task": {"meaning": a}, b[:80]: {"meaning": f"{f}\n{d}"}}

    def meaning(name: str, term: str) -> dict[str, Any]:
        said = long if name == names[0] and term != "task" else terms.get(term, {"meaning": e})
        bounds = {g[:30]: {"min": str(names.index(name) + 1), "unit": d[:60]}, "list": {"values": [a[:80], f[:80]]}}
        return {**said, "bounds": bounds}

    promise = {
        "id": "<i>pay</i> & {{x}}",
        "debtor": names[1],
        "creditor": names[0],
        "if": "sent",
        "then": f'paid(note = "{b[:40].replace(chr(34), "")}") within 2 days of sent',
    }
    titles = dict(zip(names, (a, g, f), strict=True))
    play = Play(
        names,
        {
            "intent": f"{a}\n{b}\n\t{f}\u2028{WORD}",
            "agenda": ["accord", "concord", "commitments"],
            "terms": [b[:80]],
            "events": {"sent": {"by": names[0]}, "paid": {"by": names[1], "confirmed_by": names[0]}},
            "issues": {d[:70]: {"values": [1, 2, 3], "unit": c[:60]}},
            "rules": {"bar": 50, "improvements": 1, "step_seconds": 30},
            "_of_each": {"role": h},
            "_manifest": {"agent": e, "model": a},
        },
        meanings=meaning,
        options=lambda name: {
            "title": titles[name],
            "offer": {d[:70]: names.index(name) + 1, "extra": b},
            "rationale": WORD,
            "commitments": [promise],
        },
        scores=lambda name, title: (
            90 if title == titles[name] else 55 + (title == a)
        ),  # no tie: the page begins with it
        rejects=lambda name, title: d if name == names[0] and title == g else None,
        reasons=lambda name, title: f"{b}\n{WORD}",
        reserves=lambda name: 20,
        cost={"tokens_in": 12, "model": b, "seconds": "0.5"},
    )
    play.play(until="concord.ratify")
    play.store(names[2], b"\xff<script>document.title='raw'</script>\x1b[2K")
    play.say(names[2], {"kind": b, "step": a, "text": WORD * 5})
    play.play()
    attributes = {"note": f"{a}\r\n{g}", "long": WORD}
    report = play.say(names[0], {"kind": "event.report", "event": "sent", "attributes": attributes})
    play.say(names[1], {"kind": "event.dispute", "report": report, "because": b})
    play.say(names[1], {"kind": "commitment.cancel", "commitment": promise["id"], "because": f"{c}\n{WORD}"})
    play.say(names[2], {"kind": "room.leave", "because": d})
    return play.write(folder, "hostile")


def crowd(folder: Path, members: int = 64, tries: int = 2) -> tuple[Path, Path]:
    """Write a room of many members, each with an option and a meaning of its own of two terms."""
    names = [f"member {place:02}" for place in range(members)]
    return (
        Play(
            names,
            {
                "intent": "Find one way for all of us.",
                "agenda": ["accord", "concord"],
                "terms": ["way"],
                "rules": {"bar": 30, "improvements": tries, "step_seconds": 600},
            },
            meanings=lambda name, term: {
                "meaning": f"{term} as {name} has it",
                "bounds": {"length": {"max": str(names.index(name) % 7)}},
                "cases": [{"text": f"case of {name}", "applies": True}],
            },
            scores=lambda name, title: 30 + (len(title) * 7 + names.index(name) * 13 + sum(map(ord, title))) % 70,
            improves=lambda name, number: {"title": f"A better way, the {number}th, by {name}"},
            reserves=lambda name: 20 + names.index(name) % 30,
        )
        .play()
        .write(folder, "crowd")
    )


def haggling(folder: Path, tries: int = 197) -> tuple[Path, Path]:
    """Write a room of three members with *tries* and three options."""
    names = ["ann", "bob", "cyd"]
    return (
        Play(
            names,
            {
                "intent": "Haggle for long.",
                "agenda": ["concord"],
                "rules": {"bar": 10, "improvements": tries, "step_seconds": 600, "rejects": 1},
            },
            scores=lambda name, title: 20 + sum(map(ord, title + name)) % 60,
            improves=lambda name, number: {"title": f"Offer number {number} of them all"},
        )
        .play()
        .write(folder, "haggling")
    )


def talkative(folder: Path, entries: int = 10_000) -> tuple[Path, Path]:
    """Write a room of four members who report events of a kilobyte, and promise, until there are *entries*."""
    names = ["ann", "bob", "cyd", "dan"]
    promised = [
        {"id": f"p{place}", "debtor": names[place % 4], "creditor": names[(place + 1) % 4], "each": "order",
         "if": "ordered", "then": "said within 1 days of ordered"}
        for place in range(8)
    ]  # fmt: skip
    play = Play(
        names,
        {
            "intent": "Say a lot.",
            "agenda": ["concord", "commitments"],
            "events": {"said": {}, "ordered": {}},
            "rules": {"bar": 10, "improvements": 0, "step_seconds": 600, "watch_seconds": 86_400},
        },
        options=lambda name: {"title": f"The way of {name}", "commitments": promised},
    ).play()
    for number in range(play.fold.chain.position, entries):
        attributes = {"order": str(number // 2), "text": f"{number} " + "words " * 150}
        event = "said" if number % 2 else "ordered"
        play.say(names[number % 4], {"kind": "event.report", "event": event, "attributes": attributes})
    return play.write(folder, "talkative")
