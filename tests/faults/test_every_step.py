"""Kill -9 at every step: of a member before, during and after what it says, and of the server; then all goes on.

The steps are those of a run without faults. What is compared with it: the decision, the differences and the
commitments; the ledger verifies; and no mind is asked for what it has already answered.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from swarm.auditing.verdict import AuditResult
from swarm.signed.entry import Entry, parse_entry
from tests.support.fault_site import Site
from tests.support.patience import until

NAMES = ("ann", "bob", "cid", "dan")
MOMENTS = ("before", "kept", "sent", "read")
DAYS = ["mon", "tue", "wed"]


def script(name: str) -> dict[str, Any]:
    """Ann and bob read a term differently; bob reports, cid confirms; dan says which hours there are."""
    place = NAMES.index(name)
    return {
        "reads": {
            "task": {"meaning": "one day for all"},
            "soon": {"meaning": "within days" if name != "bob" else "within weeks"},
        },
        "settles": {"soon": {"adopt": "ann", "because": "days will do"}} if name == "bob" else {},
        "judges": {"soon": {"bob": "different"}} if name == "ann" else {},
        "quotes": {"hour": [9, 14]} if name == "dan" else {},
        "proposes": {"title": f"{name}'s", "offer": {"day": DAYS[place % 3], "hour": 9}},
        "reserve": 10,
        "scores": {f"{each}'s": 30 + (7 * at + 13 * place) % 40 for at, each in enumerate(NAMES)}
        | {"better": 90, "otherwise": 20},
        "improves": [{"title": "better", "offer": {"day": "wed", "hour": 14}}] if name == "cid" else [],
        "performs": [{"event": "met", "when": "agreed"}] if name == "bob" else [],
    }


def scenario(slug: str) -> dict[str, Any]:
    """A room with every phase in it; its steps have time enough for a process to be started again."""
    return {
        "room": slug,
        "intent": "Find a day to meet.",
        "agenda": ["accord", "concord", "commitments"],
        "terms": ["soon"],
        "issues": {"day": DAYS, "hour": [9, 14]},
        "authority": {"issues": {"hour": "dan"}},
        "events": {"met": {"by": "bob", "confirmed_by": "cid"}},
        "promises": [{"id": "meet", "debtor": "bob", "creditor": "cid", "then": "met within 2 minutes of agreed"}],
        "rules": {"step_seconds": 60, "improvements": 1, "watch_seconds": 120},
        "members": [{"name": name} for name in NAMES],
    }


def what_came(found: AuditResult) -> dict[str, Any]:
    """Return what must be the same, whatever died."""
    return {key: found.summary[key] for key in ("outcome", "reason", "decision", "divergences", "commitments")}


class Calm:
    """The run without faults: what it came to, and what each member said at which step."""

    def __init__(self, site: Site) -> None:
        self.site = site
        for name in NAMES:
            site.stand(name, script(name))
        for peer in site.peers.values():
            peer.stands()
        room = site.open(scenario("calm"))
        site.until_over(room)
        found = site.judged(room, "dan")
        assert (found.verdict, found.summary["outcome"]) == ("verified", "agreed")
        assert found.summary["commitments"] == {"meet": "satisfied"}
        assert found.summary["divergences"]
        self.came = what_came(found)
        self.asked = site.asked(room)
        assert set(self.asked.values()) == {1}
        self.entries: list[Entry] = [parse_entry(record.payload) for record in site.fold(room, "dan").records]

    def steps(self, name: str) -> Iterator[tuple[str, str | None]]:
        """Yield kind and step of everything that *name* said, in order; ticks come as they are needed."""
        key = self.site.keys[name]
        yield from (
            (entry.kind, entry.body.get("step"))
            for entry in self.entries
            if entry.author == key and entry.kind not in ("room.open", "room.tick")
        )

    def holds(self, room: str, *, killed: str | None = None, again: Iterable[str | None] = ()) -> None:
        """Let *room* come to its end and hold it against this run; *killed* may have been asked again at *again*."""
        site = self.site
        # Who is killed just at the end finds the room over, and has nothing to tell.
        told = site.until_over(room, *(name for name in NAMES if name != killed))
        assert {line.split("  ")[0] for line in told.values()} == {"agreed"}
        found = site.judged(room, "dan")
        assert found.verdict == "verified", (room, found.findings)
        assert what_came(found) == self.came, room
        assert not {f["code"] for f in found.findings} & {"silent", "excused", "late"}, (room, found.findings)
        asked = site.asked(room)
        assert asked.keys() == self.asked.keys(), room
        assert {each for each, times in asked.items() if times > 1} <= {(killed, step) for step in again}, room
        assert max(asked.values()) <= 2, room
        for name in NAMES:
            box = site.peers[name].folder / site.keys[name]
            until(lambda box=box: site.tend() or not list(box.glob("*.outbox")), f"{name} has seen the end of {room}")


@pytest.fixture
def calm(site: Site) -> Calm:
    """A site, and what came of a room there without faults."""
    return Calm(site)


def test_a_member_killed_at_six_steps_of_a_room_and_the_server_twice(calm: Calm) -> None:
    """Protects what was said: however often bob and the server die, the room comes to what it came to without that."""
    strikes = [
        ("bob", "seal", "accord.meaning.seal", "kept", "peer"),
        ("ann", "seal", "accord.reading.seal", "kept", "server"),
        ("bob", "reveal", "accord.reading.reveal", "before", "peer"),
        ("bob", "seal", "concord.ballot.1.seal", "sent", "peer"),
        ("bob", "concord.ratify", "concord.ratify", "read", "peer"),
        ("dan", "concord.ratify", "concord.ratify", "sent", "server"),
        ("bob", "room.close", "room.closing", "kept", "peer"),
        ("bob", "event.report", None, "sent", "peer"),
    ]
    for by, kind, step, moment, dies in strikes:
        assert (kind, step) in calm.steps(by)
        calm.site.strike(by=by, room="stormy", kind=kind, step=step, moment=moment, dies=dies)
    calm.holds(calm.site.open(scenario("stormy")), killed="bob")
    assert calm.site.struck() == len(strikes)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_member_killed_at_each_of_its_steps(calm: Calm, name: str) -> None:
    """Protects recovery: killed before it keeps its words, before or after they are sent, or once they are read."""
    for place, (kind, step) in enumerate(calm.steps(name)):
        moment = MOMENTS[(place + NAMES.index(name)) % len(MOMENTS)]
        slug = f"step-{place}-{moment}"
        calm.site.strike(by=name, room=slug, kind=kind, step=step, moment=moment, dies="peer")
        before = calm.site.struck()
        again = [step] if moment == "before" else []
        calm.holds(calm.site.open(scenario(slug)), killed=name, again=again)
        # Who closes last needs no witnesses, and that is another one each time.
        assert calm.site.struck() == before + 1 or kind == "room.witness", slug


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_server_killed_at_each_step(calm: Calm, name: str) -> None:
    """Protects the log: the server killed before or after it stores an entry, and started again on its port."""
    for place, (kind, step) in enumerate(calm.steps(name)):
        moment = MOMENTS[(place + NAMES.index(name)) % len(MOMENTS)]
        slug = f"server-{place}-{moment}"
        calm.site.strike(by=name, room=slug, kind=kind, step=step, moment=moment, dies="server")
        before = calm.site.struck()
        calm.holds(calm.site.open(scenario(slug)))
        assert calm.site.struck() == before + 1 or kind == "room.witness", slug


@pytest.mark.long
def test_a_member_killed_at_every_moment_of_every_step_of_one_room(calm: Calm) -> None:
    """Protects against wearing out: some sixty deaths of one member in one room change nothing of what it comes to."""
    steps = list(calm.steps("bob"))
    for kind, step in steps:
        for moment in MOMENTS[:3]:
            calm.site.strike(by="bob", room="worn", kind=kind, step=step, moment=moment, dies="peer")
    calm.holds(calm.site.open(scenario("worn")), killed="bob", again=[step for _, step in steps])
    assert calm.site.struck() >= 3 * len(steps) - 3
