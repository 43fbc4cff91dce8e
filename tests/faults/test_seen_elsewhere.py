"""Faults that other systems of this kind have had: openings that meet, effects before causes, keys used twice.

Tested elsewhere, and not again here: concurrent writers (``tests/adversary/test_faults.py``), poison and oversize
(``tests/adversary/test_hostile_client.py``, ``tests/swarm/log/test_connection.py``), a result after the end
(``tests/protocols/room/test_room.py``), said, delivered and acted on, and a holder that died long ago
(``tests/swarm/ledger/test_status.py``).
"""

import asyncio
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from protocols.core.instants import DAY, parse_instant, show_instant
from swarm.auditing.auditing import audit
from swarm.clock import utc_now
from swarm.errors import BadInput, SecondProcess
from swarm.history.tracking import track
from swarm.ledger.fold import Fold
from swarm.peers.peer import open_room
from swarm.running.running import run
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.seat.outbox import MemoryOutbox
from swarm.seat.replica import Replica
from swarm.seat.seat import Seat
from swarm.seat.speaker import Speaker
from tests.support.fault_rooms import small, willing
from tests.support.fault_site import Site
from tests.support.patience import until
from tests.support.small_rooms import Sitting, go, member, room
from tests.support.unsigned_rooms import Table

# -- rooms ------------------------------------------------------------------------------------------------------------


def test_two_openings_a_millisecond_apart_are_two_rooms() -> None:
    """Protects rooms from each other: opened by one key with one scenario, they share nothing, and both agree."""

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        keys = {name: identity.public for name, identity in sitting.identities.items()}
        now = utc_now()
        entries = [sign_opening(sitting.opener, sitting.scenario.opening(keys), now + late) for late in (0, 1000)]
        replicas = []
        for entry in entries:
            await publish_opening(sitting.log, entry)
            replicas.append(Replica(sitting.log, entry.room, sitting.opener.public, utc_now))
            await replicas[-1].open()
        assert replicas[0].name != replicas[1].name
        tasks = [asyncio.create_task(replica.follow()) for replica in replicas]
        await asyncio.gather(
            *(
                Seat(sitting.identities[name], sitting.agents[name], replica, MemoryOutbox(), utc_now).run()
                for replica in replicas
                for name in keys
            )
        )
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for replica in replicas:
            found = replica.fold.room
            assert found.ending is not None and found.ending.outcome == "agreed"
            assert not found.findings
            assert {record.author for record in replica.fold.records} == set(keys.values())
            assert {record.entry.room for record in replica.fold.records if record.entry} == {replica.name}
        ids = [{record.id for record in replica.fold.records} for replica in replicas]
        assert not ids[0] & ids[1]

    go(work())


def test_opened_twice_with_the_same_bytes_is_opened_once() -> None:
    """Protects an opener whose acknowledgement got lost: sent again, its opening is the room that there is."""

    async def work() -> None:
        sitting = Sitting(room())
        replica = await sitting.open()
        first = replica.fold.records[0].entry
        assert first is not None
        await publish_opening(sitting.log, first)
        await replica.refresh()
        assert replica.fold.chain.position == 1

    go(work())


@pytest.mark.parametrize("keys", ["one", "twice"])
def test_nobody_negotiates_with_itself(keys: str, tmp_path: Path) -> None:
    """Protects against a room that agrees with nobody: one member, or one key in two seats, is refused with why."""
    sitting = Sitting(room())
    ann = sitting.opener.public
    seats = [{"name": "ann", "key": ann}, {"name": "bob", "key": ann}][: 1 if keys == "one" else 2]
    scenario = room(member("ann"), member("bob")) | {"members": seats}
    if keys == "one":
        with pytest.raises(BadInput, match="at least 2"):
            read_scenario(scenario)
    with pytest.raises(BadInput, match="at least 2" if keys == "one" else "nobody has two seats"):
        open_room(scenario, sitting.opener, "nats://127.0.0.1:9", timeout_s=1)


def test_a_member_that_joins_twice_counts_once() -> None:
    """Protects the roster: a second joining is a finding, and the room still waits for the one who has not joined."""
    table = Table("abc")
    assert table.join_as("a") == []
    assert table.join_as("a") == ["already_answered"]
    assert table.expected == ["b", "c"]
    assert table.join_as("b") == []
    assert not table.room.started
    assert table.join_as("c") == []
    assert table.room.started
    assert list(table.room.present) == ["a", "b", "c"]


def test_what_was_said_before_the_other_side_first_listened_is_heard(sites: Callable[..., Site]) -> None:
    """Protects peers that come later: invited, addressed and waited for before its first start, bob misses nothing."""
    site = sites("ann", "bob")
    site.stand("ann", willing()).stands()
    opened = site.open(small("early", "ann", "bob"))
    until(lambda: ("ann", "room.joining") in site.asked(opened), "ann has spoken")
    site.stand("bob", willing("tue"))
    assert set(site.until_over(opened).values()) == {"agreed"}
    assert site.judged(opened, "bob").verdict == "verified"


# -- a record of every end --------------------------------------------------------------------------------------------


def test_an_exception_after_the_opening_ends_in_a_record(tmp_path: Path) -> None:
    """Protects the record: whatever the caller's code raises in the middle, what was said until then is a ledger."""
    ledger = tmp_path / "ledger.jsonl"

    def watch(fold: Fold) -> None:
        if fold.room.started:
            raise ZeroDivisionError("in the middle")

    with pytest.raises(ZeroDivisionError):
        run(room(member("ann"), member("bob"), seconds=30), memory=True, ledger=ledger, watch=watch)
    found = audit(ledger)
    assert found.verdict == "incomplete"
    assert found.entries >= 3


# -- effects and causes -----------------------------------------------------------------------------------------------

START = parse_instant("2026-01-01T00:00:00Z")
LINES: list[dict[str, Any]] = [
    {"do": "create", "commitment": "c1", "by": "alice"},
    {"event": "moved", "by": "alice"},
    {"do": "create", "commitment": "c2", "by": "bob"},
    {"event": "paid", "by": "bob", "id": "p"},
    {"do": "confirm", "report": "p", "by": "alice"},
]
TERMS = [
    {"id": "c1", "debtor": "alice", "creditor": "bob", "then": "moved by 2026-01-09T00:00:00Z"},
    {"id": "c2", "debtor": "bob", "creditor": "alice", "then": "paid by 2026-01-09T00:00:00Z"},
]


def tracked(lines: list[dict[str, Any]]) -> dict[str, Any]:
    events = {"paid": {"by": "bob", "confirmed_by": "alice"}}
    history = {"parties": ["alice", "bob"], "events": events, "commitments": TERMS, "history": lines}
    return track(history | {"as_of": show_instant(START + 20 * DAY)}).plain()


@pytest.mark.parametrize("times", [1, 2])
def test_tr_05_a_history_reads_the_same_in_every_order_of_its_lines(times: int) -> None:
    """Protects against effects that came before their causes: dates decide, not the order in which lines arrive."""
    dated = [line | {"at": show_instant(START + place * DAY)} for place, line in enumerate(LINES)]
    states = []
    for order in permutations(dated):
        lines = [line for line in order for _ in range(times)]
        found = tracked([dict(line) for line in lines])
        states.append({name: (each["state"], each["since"]) for name, each in found["commitments"].items()})
    assert len(states) == 120
    assert all(each == states[0] for each in states)
    assert {name: state for name, (state, _) in states[0].items()} == {"c1": "satisfied", "c2": "satisfied"}


def test_tr_05_one_promise_is_not_moved_by_the_order_of_anothers_acts() -> None:
    """Protects unrelated promises: c2 depends on the order of its own acts only, however those of c1 fall between."""
    by_order: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for order in permutations(range(5)):
        lines = [LINES[line] | {"at": show_instant(START + at * DAY)} for at, line in enumerate(order)]
        found = tracked(lines)
        own = tuple(str(line) for line in order if line >= 2)
        refused = sorted(each["code"] for each in found["refused"] if each["item"] not in ("c1", "moved"))
        state = found["commitments"]["c2"]["state"]
        by_order.setdefault(own, set()).add((state, *refused))
    assert len(by_order) == 6
    assert all(len(each) == 1 for each in by_order.values()), by_order


# -- one key, two meanings --------------------------------------------------------------------------------------------


def test_tr_06_one_id_of_a_promise_has_one_meaning_in_its_room() -> None:
    """Protects the first terms: the same again changes nothing, other terms under its id are refused; rooms differ."""
    fields: dict[str, Any] = {"agenda": ["commitments"], "events": {"moved": {"by": "a"}, "paid": {"by": "a"}}}
    terms = {"id": "p", "debtor": "a", "creditor": "b", "then": "moved within 20 seconds of agreed"}
    other = terms | {"then": "paid within 20 seconds of agreed"}
    table = Table("ab", **fields, promises=[terms]).join()
    assert table.answer("a", "commitment.create", commitments=[terms]) == []
    assert table.room.tracker is not None
    before = table.room.tracker.statuses()["p"]
    for again in (terms, other):
        codes = table.say("a", {"kind": "commitment.create", "commitments": [again]})
        assert codes, again
    assert table.room.tracker.statuses()["p"] == before
    elsewhere = Table("ab", **fields, promises=[other]).join()
    assert elsewhere.answer("a", "commitment.create", commitments=[other]) == []


def test_tr_06_one_number_is_for_one_payload() -> None:
    """Protects a member's number: kept bytes that are said are not sent again, and others under it are never stored."""

    async def work() -> None:
        sitting = Sitting(room(member("ann"), member("bob"), seconds=30))
        replica = await sitting.open()
        outbox = MemoryOutbox()
        first = Speaker(sitting.opener, replica, outbox, utc_now, patience_s=5)
        said = await first.say({"kind": "room.tick"})
        again = Speaker(sitting.opener, await sitting.replica(), outbox, utc_now, patience_s=5)
        late = Speaker(sitting.opener, await sitting.replica(), MemoryOutbox(), utc_now, patience_s=5)
        await again.recover()
        await first.say({"kind": "room.excuse", "step": "room.joining", "because": "away"})
        with pytest.raises(SecondProcess):
            await late.say({"kind": "room.tick"})
        await replica.refresh()
        records = replica.fold.records
        assert [record.entry.n for record in records if record.entry is not None] == [1, 2, 3]
        assert records[1].id == said.id

    go(work())
