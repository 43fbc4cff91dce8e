"""Whoever opens a room: with rules out of bounds, in names that deceive, or under terms that nobody accepts."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from protocols.messages.room import VERSIONS, room_name
from swarm.clock import utc_now
from swarm.errors import BadEntry, Unavailable
from swarm.ledger.chain import HEAD_0
from swarm.ledger.fold import Fold
from swarm.log.jetstream import JetStreamLog
from swarm.log.memory import MemoryLog
from swarm.log.port import Stored
from swarm.peers.inviting import invite
from swarm.peers.kept import Rooms
from swarm.peers.standing import StandingPeer
from swarm.scenario.members import read_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import find_opener, publish_opening
from swarm.seat.replica import Replica
from swarm.signed.entry import Entry, sign_entry
from swarm.signed.identity import Identity
from tests.support.hand_made import Siege
from tests.support.sieges import room

KEYS = {name: Identity(bytes([i]) * 32) for i, name in enumerate(Siege.NAMES, 1)}


def honest(keys: dict[str, Identity] = KEYS) -> dict[str, Any]:
    opening = read_scenario(room()).opening({name: key.public for name, key in keys.items()})
    return opening.plain()


def opened(body: dict[str, Any], keys: dict[str, Identity] = KEYS) -> Entry:
    """Sign *body* as an opening whose name is rightly its own, whatever it says."""
    author = keys["ann"]
    slug = body.get("slug") if isinstance(body.get("slug"), str) else "x"
    name = room_name(slug, author.public, body)
    return sign_entry(author, room=name, n=1, prev=None, seen=(0, HEAD_0), sent=utc_now(), body=body)


def judged(entry: Entry) -> str:
    """Return the code with which everybody refuses this opening, empty if they take it."""
    try:
        Fold.open(Stored(1, utc_now(), entry.author, entry.payload), entry.room)
    except BadEntry as refused:
        assert len(str(refused)) < 1_000
        return refused.code
    return ""


Change = Callable[[dict[str, Any]], Any]


def rules(**changed: Any) -> Change:
    return lambda body: body["rules"].update(changed)


def named(*names: str) -> Change:
    return lambda body: [entry.update(name=name) for entry, name in zip(body["roster"], names, strict=False)]


def keyed(*keys: str) -> Change:
    return lambda body: [entry.update(key=key) for entry, key in zip(body["roster"], keys, strict=False)]


def crowd(count: int) -> Change:
    def change(body: dict[str, Any]) -> None:
        more = [{"name": f"m{i}", "key": Identity(bytes([99, i]) * 16).public} for i in range(count - 3)]
        body["roster"] = (body["roster"] + more)[:count]

    return change


def field(**changed: Any) -> Change:
    return lambda body: body.update(changed)


def promise(name: str, then: str = "paid within 1 day of agreed") -> dict[str, str]:
    return {"id": name, "debtor": "ann", "creditor": "bob", "then": then}


ANN = KEYS["ann"].public
ABSURD: dict[str, Change] = {
    "steps of a second": rules(step_seconds=1),
    "steps of no time": rules(step_seconds=0),
    "steps before they begin": rules(step_seconds=-5),
    "steps of a century": rules(step_seconds=3_153_600_000),
    "steps of true": rules(step_seconds=True),
    "steps in words": rules(step_seconds="30"),
    "a floor at the bar": rules(floor=50),
    "a floor above the bar": rules(floor=60, bar=50),
    "a bar of nothing": rules(bar=0),
    "a bar above all scores": rules(bar=101),
    "a skew of nothing": rules(skew_seconds=0),
    "a skew of a year": rules(skew_seconds=31_536_000),
    "a million tries": rules(improvements=1_000_000),
    "a million rejections": rules(rejects=1_000_000),
    "a watch of a century": rules(watch_seconds=3_153_600_000),
    "a rule that nobody knows": rules(winner="ann"),
    "an agreement by majority": rules(quorum=2),
    "a field that nobody knows": field(decided="mon"),
    "one member": crowd(1),
    "65 members": crowd(65),
    "one key twice": keyed(ANN, ANN),
    "a key that is none": keyed(ANN, "U" + "A" * 55),
    "an opener without a seat": keyed(Identity(b"z" * 32).public),
    "one name twice": named("ann", "ann"),
    "a homograph": named("alice", "\u0430lice"),
    "terms that look alike": field(agenda=["accord"], terms=["price", "pr\u0456ce"]),
    "a term that looks like the intent": field(agenda=["accord"], terms=["Task"]),
    "issues that look alike": field(issues={"day": {"values": ["mon"]}, "d\u0430y": {"values": ["tue"]}}),
    "events that look alike": field(
        agenda=["concord", "commitments"], events={"paid": {"by": "ann"}, "pa1d": {"by": "bob"}, "paId": {}}
    ),
    "an event that looks like the agreement": field(agenda=["concord", "commitments"], events={"\u0430greed": {}}),
    "promises that look alike": field(
        agenda=["concord", "commitments"], events={"paid": {}}, promises=[promise("rent"), promise("RENT")]
    ),
    "attributes that look alike": field(
        agenda=["concord", "commitments"],
        events={"paid": {}},
        promises=[
            promise("p", "paid(l = 1) within 1 day of agreed"),
            promise("q", "paid(I = 2) within 1 day of agreed"),
        ],
    ),
    "an event in two characters for one letter": field(agenda=["commitments"], events={"ge\u0301": {}}),
    "an invisible character": named("ali\u200bce"),
    "a name with a space behind": named("Alice "),
    "a ligature": named("\ufb01nance", "finance"),
    "a name of nothing": named(""),
    "a name of a thousand letters": named("a" * 1_000),
    "no agenda": field(agenda=[]),
    "an agenda out of order": field(agenda=["commitments", "concord"]),
    "an agenda twice": field(agenda=["concord", "concord"]),
    "an issue with one value twice": field(issues={"day": {"values": ["mon", "mon"]}}),
    "an authority that is no member": field(authority={"issues": {"day": "eve"}, "terms": {}}),
    "51 terms": field(agenda=["accord"], terms=[f"t{i}" for i in range(51)]),
    "a slug with dots": field(slug="a.b"),
    "a slug with a wildcard": field(slug="*"),
    "a nonce that is none": field(nonce="0"),
    "an intent of nothing": field(intent=""),
    "an intent of a book": field(intent="x" * 200_000),
    "a rehearsal that stands still": field(rehearsal={"agreed_at": "2027-01-04T09:00:00Z", "second": "0 seconds"}),
    "a promise of a stranger": field(
        agenda=["concord", "commitments"],
        promises=[{"id": "p", "debtor": "eve", "creditor": "bob", "then": "paid within 5 days of agreed"}],
    ),
    "a promise of an event that there is not": field(
        agenda=["concord", "commitments"],
        promises=[{"id": "p", "debtor": "ann", "creditor": "bob", "then": "paid within 5 days of agreed"}],
    ),
}


def test_the_honest_opening_opens() -> None:
    """What the absurd ones change is in order as it is."""
    assert judged(opened(honest())) == ""


@pytest.mark.parametrize("name", ABSURD)
def test_an_opening_out_of_bounds_opens_nothing(name: str) -> None:
    """Everybody refuses it alike, in the fold: no room, no seat, nothing to sign."""
    body = honest()
    ABSURD[name](body)
    assert judged(opened(body)) in ("bad_opening", "bad_body", "bad_key")


@pytest.mark.parametrize("name", ["steps of a second", "a homograph", "65 members", "a slug with a wildcard"])
def test_an_absurd_room_is_found_by_nobody(name: str) -> None:
    """Whoever looks for the room by its name finds that there is none."""

    async def work() -> None:
        body = honest()
        ABSURD[name](body)
        entry = opened(body)
        async with MemoryLog() as log:
            stored_as = entry.room if name != "a slug with a wildcard" else "x"
            await log.append(stored_as, entry.author, entry.payload, expected_last=0)
            with pytest.raises(Unavailable):
                await find_opener(log, stored_as)

    asyncio.run(work())


def test_an_opening_that_borrows_a_name_opens_nothing() -> None:
    """A room's name is the digest of its opening: another body, another author or another slug is another room."""
    body, true = honest(), opened(honest())
    for change in (field(intent="Pick another day."), field(slug="other"), rules(bar=51)):
        other = honest()
        change(other)
        entry = sign_entry(KEYS["ann"], room=true.room, n=1, prev=None, seen=(0, HEAD_0), sent=utc_now(), body=other)
        assert judged(entry) == "bad_opening"
    bob = sign_entry(KEYS["bob"], room=true.room, n=1, prev=None, seen=(0, HEAD_0), sent=utc_now(), body=body)
    assert judged(bob) == "bad_opening"


# -- those who stand by -----------------------------------------------------------------------------------------------


@pytest.fixture
def stands(siege: Siege, run: Any, caplog: pytest.LogCaptureFixture) -> Callable[..., tuple[list[str], list[str]]]:
    """Let ann open a room and invite bob, who stands by, until his log says so; return it, and why he declined."""

    def stands(body: dict[str, Any], accepts: dict[str, Any], until: str) -> tuple[list[str], list[str]]:
        declined: list[str] = []
        log_of_it: list[str] = []

        async def work() -> None:
            agent = read_agent({"agent": "scripted", "scores": {"otherwise": 60}, "accepts": accepts})
            bob, ann = siege.identities["bob"], siege.identities["ann"]
            async with (
                await JetStreamLog.connect(siege.url, identity=ann) as mine,
                await JetStreamLog.connect(siege.url, identity=bob) as log,
            ):
                entry = opened(body, siege.identities)
                await publish_opening(mine, entry)
                await invite(mine, ann, entry.room, [bob.public])
                over: list[str] = []

                def told() -> list[str]:
                    # The server holds invitations of other tests too.
                    here = (entry.room, "no accepted opener")
                    return [line for line in caplog.messages if any(part in line for part in here)]

                peer = StandingPeer(agent, bob, log, rooms=Rooms(), tell=lambda seen: over.append(f"over {seen.room}"))
                standing = asyncio.create_task(peer.run())
                while not any(until in line for line in [*told(), *(line for line in over if entry.room in line)]):
                    assert not standing.done()
                    await asyncio.sleep(0.01)
                peer.stop()
                await standing
                log_of_it.extend(told())
                if any(entry.room in line for line in over):
                    replica = Replica(mine, entry.room, ann.public, utc_now)
                    await replica.open()
                    found = replica.room.findings
                    declined.extend(f.text for f in found if (f.code, f.who) == ("declined", "bob"))

        with caplog.at_level(logging.INFO, "swarm.peers.standing"):
            run(work())
        return log_of_it, declined

    return stands


def test_a_standing_peer_ignores_a_room_that_is_none(siege: Siege, stands: Any) -> None:
    """An accepted opener with absurd rules gets no seat taken: one line in the log says why."""
    body = honest(siege.identities)
    ABSURD["steps of a second"](body)
    log, declined = stands(body, {"openers": [siege.key("ann")]}, "its opening is none")
    assert declined == [] and not any("taking part" in line for line in log)


UNKNOWN = VERSIONS | {"room": "room/2", "concord": "concord-select/9"}
UNNAMED = {name: version for name, version in VERSIONS.items() if name != "names"}


REHEARSED = {"agreed_at": "2027-01-04T09:00:00Z", "second": "1 day"}


@pytest.mark.parametrize(
    ("change", "accepts", "reason"),
    [
        (rules(step_seconds=2), {"min_step_seconds": 5}, "its steps have 2 s; this peer needs 5 s"),
        (rules(), {"max_members": 2}, "it has 3 members; this peer joins at most 2"),
        (rules(), {"issues": ["price"]}, "it decides day, which this peer does not settle"),
        (rules(watch_seconds=315_360_000), {"max_watch_seconds": 86_400}, "this peer stays at most 86400 s"),
        (rules(skew_seconds=86_400), {"max_skew_seconds": 60}, "this peer allows 60 s"),
        (field(rehearsal=REHEARSED), {"rehearsal": "never"}, "it is a rehearsal; this peer joins none"),
        (
            field(authority={"issues": {"day": "ann"}, "terms": {}}),
            {"authority": {"issues": []}},
            "another member alone decides day, which this peer does not accept",
        ),
        (
            rules(budget={"member": {"tokens": 10**12}}),
            {"max_budget": {"tokens": 50_000}},
            "it lets a member use 1000000000000 tokens; this peer uses at most 50000",
        ),
        (rules(), {"max_budget": {"calls": 10}}, "it sets no limit on calls; this peer needs one of at most 10"),
        (
            field(agenda=["concord", "commitments"], powers={"suspend": ["ann"]}),
            {"powers": []},
            "others have the power to suspend, which this peer does not accept",
        ),
        (
            field(agenda=["concord", "commitments"]),
            {"agenda": ["accord", "concord"]},
            "its agenda has commitments, which this peer does not join",
        ),
        (rules(versions=UNKNOWN), {}, "unsupported_rules: concord concord-select/9, room room/2"),
        (rules(versions=UNNAMED), {}, "unsupported_rules: names not named"),
    ],
)
def test_a_standing_peer_declines_what_it_does_not_accept(
    change: Change, accepts: dict[str, Any], reason: str, siege: Siege, stands: Any
) -> None:
    """Within the bounds of all and outside its own: it says no, with its reason, and the wait of the others ends."""
    body = honest(siege.identities)
    change(body)
    _, declined = stands(body, {"openers": [siege.key("ann")], **accepts}, "over ")
    assert len(declined) == 1 and declined[0].endswith(reason)


def test_a_standing_peer_ignores_whom_it_does_not_accept(siege: Siege, stands: Any) -> None:
    """An invitation is no reason to sit down: only those its file names may open rooms for it."""
    log, declined = stands(honest(siege.identities), {"openers": []}, siege.key("ann"))
    assert any("no accepted opener" in line for line in log)
    assert declined == [] and not any("taking part" in line for line in log)
