"""A room to try the rules on: its members say things as events, without keys, signatures or a log.

Every body is read by the models first, as the fold does it. Seals hold what they say they hold; boxes hold nothing.
"""

from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields
from hashlib import sha256
from typing import Any

from protocols.concord.machine import Concord
from protocols.core.event import Event
from protocols.core.findings import CODES, Finding
from protocols.core.instants import SECOND
from protocols.core.message import Message
from protocols.duties.duties import Duty, RatifyDuty, SettleDuty, TickDuty
from protocols.messages.bodies import parse_body
from protocols.messages.concord import reserve_digest
from protocols.messages.room import RoomOpen, seal_digest
from protocols.room.room import Room

START = 1_800_000_000 * SECOND
STEP_S = 30


def hexed(*words: object) -> str:
    """A digest or nonce that depends on nothing but *words*."""
    return sha256(repr(words).encode()).hexdigest()


def key_of(name: str) -> str:
    return "U" + b32encode(sha256(name.encode()).digest()).decode().rstrip("=").ljust(55, "A")[:55]


def opening_of(members: Iterable[str] = "abc", **fields_: Any) -> dict[str, Any]:
    """The body of an opening; *fields_* replace the plain ones."""
    rules = {"step_seconds": STEP_S} | fields_.pop("rules", {})
    roster = [{"name": name, "key": key_of(name)} for name in members]
    plain = {"kind": "room.open", "slug": "try", "intent": "Decide.", "roster": roster, "agenda": ["concord"]}
    return plain | {"nonce": hexed("opening"), "rules": rules} | fields_


def event_of(
    body: dict[str, Any] | Message,
    author: str,
    position: int,
    at: int,
    seen: int | None = None,
    cost: dict[str, Any] | None = None,
) -> Event:
    said = body if isinstance(body, Message) else parse_body(body)
    return Event(position, at, author, hexed("entry", position), position - 1 if seen is None else seen, said, cost)


def open_room(author: str = "a", **fields_: Any) -> Room:
    return Room.open(event_of(opening_of(**fields_), author, 1, START), key_of(author))


def codes(findings: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in findings]


class Table:
    """A room and those who sit at it. ``said`` holds every event, so that it can be folded again."""

    def __init__(self, members: Iterable[str] = "abc", **fields_: Any) -> None:
        self.members = list(members)
        self.room = open_room(self.members[0], members=self.members, **fields_)
        self.said: list[Event] = []
        self._opened: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
        self.reserves: dict[str, int | None] = {}
        self.costs: dict[str, dict[str, Any]] = {}
        """What each member says that saying anything takes, from now on."""

    # -- saying things --------------------------------------------------------------------------------------------

    @property
    def step(self) -> str:
        return self.room.step.id if self.room.step is not None else "no.step"

    @property
    def expected(self) -> list[str]:
        return [] if self.room.step is None else self.room.step.awaited(self.room.present)

    @property
    def deadline(self) -> int:
        assert self.room.step is not None
        return self.room.step.deadline

    def say(
        self, author: str, body: dict[str, Any] | Message, *, at: int | None = None, seen: int | None = None
    ) -> list[str]:
        """Let *author* say *body*, a millisecond after what came before; return the codes of the findings.

        What `costs` holds for the author goes with it.
        """
        when = self.room.at + 1000 if at is None else at
        event = event_of(body, author, self.room.position + 1, when, seen, self.costs.get(author))
        self.said.append(event)
        findings = self.room.apply(event)
        for finding in findings:
            assert finding.code in CODES and finding.text
            assert finding.who in {*self.members, ""} or finding.code == "not_a_member"
        return codes(findings)

    def answer(
        self, author: str, kind: str, *, at: int | None = None, step: str | None = None, **said: Any
    ) -> list[str]:
        """Let *author* answer the open step (or the one named)."""
        return self.say(author, {"kind": kind, "step": step or self.step, **said}, at=at)

    def tick(self, at: int) -> list[str]:
        return self.say(self.members[0], {"kind": "room.tick"}, at=at)

    def expire(self) -> list[str]:
        """Let the open step's deadline pass."""
        return self.tick(self.deadline + 1)

    def excuse(self, author: str, because: str = "cannot") -> list[str]:
        return self.answer(author, "room.excuse", because=because)

    def leave(self, author: str, because: str = "must go") -> list[str]:
        return self.say(author, {"kind": "room.leave", "because": because})

    def join(self, *but: str, **said: Any) -> "Table":
        """Let everyone join, except those named."""
        for member in self.members:
            if member not in but:
                self.join_as(member, **said.get(member, {}))
        return self

    def join_as(self, member: str, **said: Any) -> list[str]:
        opening, manifest = self.room.setting.opening_id, {"agent": "test"}
        return self.answer(member, "room.join", opening=opening, manifest=manifest, **said)

    # -- sealed answers -------------------------------------------------------------------------------------------

    def digest(self, author: str, step: str, content: dict[str, Any], nonce: str) -> str:
        return seal_digest(self.room.setting.room, self.room.setting.keys[author], step, nonce, content)

    def seal_of(self, author: str, content: dict[str, Any]) -> dict[str, Any]:
        """The seal over *content* for the open step; `reveal` can open it."""
        step, nonce = self.step, hexed("nonce", author, self.step)
        self._opened[author, step] = nonce, content
        return {"kind": "seal", "step": step, "digest": self.digest(author, step, content, nonce), "box": "AA"}

    def seal(self, author: str, content: dict[str, Any], *, at: int | None = None) -> list[str]:
        return self.say(author, self.seal_of(author, content), at=at)

    def has_sealed(self, author: str) -> bool:
        """Whether it is known here what *author* has sealed for the open revealing step."""
        return (author, self.step.removesuffix("reveal") + "seal") in self._opened

    def reveal_of(self, author: str) -> dict[str, Any]:
        nonce, content = self._opened[author, self.step.removesuffix("reveal") + "seal"]
        return {"kind": "reveal", "step": self.step, "nonce": nonce, "content": content}

    def reveal(self, author: str) -> list[str]:
        return self.say(author, self.reveal_of(author))

    def sealed(self, contents: Mapping[str, dict[str, Any]]) -> dict[str, list[str]]:
        """Seal and reveal everyone's content, in the order given; return each one's codes at the reveal.

        Whoever is expected and not among *contents* stays silent until the deadline.
        """
        for author, content in contents.items():
            assert self.seal(author, content) == []
        if self.step.endswith(".seal"):
            self.expire()
        return {author: self.reveal(author) for author in contents}

    # -- Accord ---------------------------------------------------------------------------------------------------

    def mean(self, meanings: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
        """Member → term → interpretation (a text, or its fields)."""
        return self.sealed(
            {m: {"interpretations": {t: _meaning(i) for t, i in said.items()}} for m, said in meanings.items()}
        )

    def read(
        self,
        verdicts: Mapping[str, Mapping[str, str]] | None = None,
        judgements: Mapping[str, Mapping[str, str]] | None = None,
    ) -> dict[str, list[str]]:
        """Member → case → verdict, and member → term → judgement on all others' meanings of it; else unsure."""
        accord = self.room.accord
        assert accord is not None
        contents = {}
        for member in self.expected:
            given, judged = (verdicts or {}).get(member, {}), (judgements or {}).get(member, {})
            contents[member] = {
                "verdicts": [c.verdict or given.get(c.text, "unsure") for c in accord.cases_for(member)],
                "judgements": [judged.get(m.term, "unsure") for m in accord.meanings_for(member)],
            }
        return self.sealed(contents)

    def settle(self, member: str, **terms: dict[str, Any]) -> list[str]:
        """Settle as said; all other terms asked about are kept."""
        duty = self.duty(member)
        assert isinstance(duty, SettleDuty)
        return self.answer(member, "accord.settle", terms={t: {"keep": True} for t in duty.terms} | terms)

    def meaning_id(self, term: str, member: str) -> str:
        assert self.room.accord is not None
        return self.room.accord.ids[term][member]

    # -- Concord --------------------------------------------------------------------------------------------------

    @property
    def concord(self) -> Concord:
        assert self.room.concord is not None
        return self.room.concord

    def proposal(self, author: str, option: dict[str, Any] | str, reserve: int | None = None) -> dict[str, Any]:
        said = {"title": option} if isinstance(option, str) else option
        nonce = hexed("reserve", author)
        hidden = reserve_digest(self.room.setting.room, self.room.setting.keys[author], reserve, nonce)
        return {"option": said, "reserve": hidden}

    def propose(self, reserves: Mapping[str, int] | None = None, **options: Any) -> dict[str, list[str]]:
        self.reserves = {**(reserves or {})}
        return self.sealed({m: self.proposal(m, o, self.reserves.get(m)) for m, o in options.items()})

    def option(self, title: str) -> str:
        """The id of the option with this title."""
        concord = self.concord
        return next(c.id for c in concord.candidates.values() if c.option.title == title)

    def title(self, option: str | None) -> str | None:
        concord = self.concord
        return concord.candidates[option].option.title if option is not None else None

    def ballot(self, member: str, scores: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """A ballot by title: scores, and rejections where a score is a text beginning with ``no``."""
        given = {self.option(title): score for title, score in scores.items()}
        rejects = {o: s for o, s in given.items() if isinstance(s, str) and s.startswith("no")}
        content: dict[str, Any] = {"scores": {o: s for o, s in given.items() if o not in rejects}}
        if rejects:
            content["rejects"] = rejects
        concord = self.concord
        if concord.ballots == 1 and member in concord.proposals.contents:
            content["reserve"] = {"reserve": self.reserves.get(member), "nonce": hexed("reserve", member)}
        return content | more

    def score(self, **scores: Any) -> dict[str, list[str]]:
        """Member → title → score; a plain number scores whatever is asked."""
        concord = self.concord
        asked = [concord.candidates[o].option.title for o in concord.asked()]
        full = {m: s if isinstance(s, Mapping) else dict.fromkeys(asked, s) for m, s in scores.items()}
        return self.sealed({m: self.ballot(m, s) for m, s in full.items()})

    @property
    def standing(self) -> str | None:
        return self.title(self.concord.standing)

    @property
    def holder(self) -> str:
        """The member who has the right to improve."""
        assert self.step.startswith("concord.improve."), self.step
        assert self.room.step is not None
        return self.room.step.expected[0]

    def pass_(self, member: str, standing: str | None = None) -> list[str]:
        concord = self.concord
        return self.answer(member, "concord.pass", standing=standing or concord.standing)

    def all_pass(self) -> None:
        while self.step.startswith("concord.improve."):
            self.pass_(self.holder)

    def improve(self, option: dict[str, Any] | str, member: str | None = None) -> list[str]:
        said = {"title": option} if isinstance(option, str) else option
        return self.answer(member or self.holder, "concord.improve", option=said)

    def ratify(self, member: str, accept: bool = True, **said: Any) -> list[str]:
        duty = self.duty(member)
        assert isinstance(duty, RatifyDuty)
        return self.answer(member, "concord.ratify", **{"outcome": duty.digest, "accept": accept, **said})

    def ratify_all(self) -> None:
        for member in self.expected:
            self.ratify(member)

    # -- the end --------------------------------------------------------------------------------------------------

    @property
    def ending(self) -> tuple[str, str | None]:
        assert self.room.ending is not None, self.step
        return self.room.ending.outcome, self.room.ending.reason

    def close(self) -> None:
        """Let everyone sign the end and the witnesses sign to have seen it."""
        for kind in ("room.close", "room.witness"):
            for member in self.expected:
                digest = {"digest": self.room.closing.digest} if kind == "room.close" and self.room.closing else {}
                self.answer(member, kind, **digest)

    # -- looking --------------------------------------------------------------------------------------------------

    def duty(self, member: str) -> Duty:
        """What *member* is to answer the open step with."""
        return next(d for d in self.room.duties(member) if d.step is not None)

    def ticks(self) -> dict[str, int]:
        """When each member owes a tick."""
        return {m: d.at for m in self.members for d in self.room.duties(m) if isinstance(d, TickDuty)}

    def codes(self) -> list[str]:
        return codes(self.room.findings)


def _meaning(said: Any) -> dict[str, Any]:
    return {"meaning": said} if isinstance(said, str) else dict(said)


def state_of(room: Room) -> dict[str, Any]:
    """A copy of all of a room's state that an event's rules may change: not its place, time and findings.

    Of the promises, which have clocks of their own, this is what anyone is told of them.
    """
    copy = deepcopy(room)
    state: dict[str, Any] = {"promises": None if copy.tracker is None else dict(copy.tracker.statuses())}
    copy.promises = None
    if copy.concord is not None:
        copy.concord.tracker = None
    apart = ("position", "at", "findings")
    return state | {f.name: getattr(copy, f.name) for f in fields(copy) if f.name not in apart}


def fold(table: Table, events: Sequence[Event], room: Room | None = None) -> Room:
    """Fold *events* into a fresh room like the table's, or into *room*."""
    opening = table.room.setting.opening
    assert isinstance(opening, RoomOpen)
    author = opening.roster[0]
    folded = room or Room.open(event_of(opening, author.name, 1, START), author.key)
    for event in events:
        folded.apply(event)
    return folded


PROMISE = {"id": "chair", "debtor": "b", "creditor": "a", "then": "moved within 5 days of agreed"}
TOUR: dict[str, Any] = {
    "agenda": ["accord", "concord", "commitments"],
    "terms": ["done"],
    "issues": {"price": {"values": [1, 2, 3]}, "size": {"values": ["s", "l"]}},
    "authority": {"issues": {"price": "b"}},
    "events": {"moved": {"by": "b", "confirmed_by": "a"}},
    "promises": [PROMISE],
    "rules": {"improvements": 1},
}


def tour() -> Iterator[Table]:
    """One room that goes through every kind of step; yields it at each, before anyone has answered."""
    table = Table(**TOUR)
    yield table
    table.join()
    yield table
    table.answer("b", "commitment.create", commitments=[PROMISE])
    meanings = {"a": "merged", "b": "deployed", "c": "merged"}
    yield from _sealed(table, {m: {"interpretations": {"done": {"meaning": w}}} for m, w in meanings.items()})
    yield from _sealed(
        table,
        {
            "a": {"verdicts": [], "judgements": ["different"]},
            "b": {"verdicts": [], "judgements": ["unsure"]},
            "c": {"verdicts": [], "judgements": ["unsure"]},
        },
    )
    yield table
    table.settle("a")
    table.settle("b")
    yield table
    table.answer("b", "concord.quote", values={"price": [2, 3]})
    table.reserves = {"a": 20}
    sizes = {"a": "s", "b": "l", "c": "s"}
    yield from _sealed(
        table,
        {m: table.proposal(m, {"title": m, "offer": {"size": s}}, table.reserves.get(m)) for m, s in sizes.items()},
    )
    titles = [c.option.title for c in table.concord.candidates.values()]
    yield from _sealed(table, {m: table.ballot(m, dict.fromkeys(titles, 60)) for m in "abc"})
    yield table
    table.improve({"title": "dear", "offer": {"size": "s", "price": 3}})
    yield from _sealed(table, {m: table.ballot(m, {"dear": 70}) for m in "abc"})
    yield table
    table.ratify_all()
    yield table
    assert table.room.closing is not None
    for member in "abc":
        table.answer(member, "room.close", digest=table.room.closing.digest)
    yield table
    for member in table.expected:
        table.answer(member, "room.witness")
    yield table


def _sealed(table: Table, contents: Mapping[str, dict[str, Any]]) -> Iterator[Table]:
    yield table
    for member, content in contents.items():
        table.seal(member, content)
    yield table
    for member in contents:
        table.reveal(member)
