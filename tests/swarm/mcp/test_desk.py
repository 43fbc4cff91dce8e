"""The desk and its tools in one process, over the log in memory: promises, budgets, many rooms."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from swarm.clock import utc_now
from swarm.log.memory import MemoryLog, MemoryStore
from swarm.mcp import desk as desks
from swarm.mcp.desk import Desk
from swarm.mcp.forms import FORMS, input_schema, read_arguments
from swarm.mcp.server import call
from swarm.mcp.views import shown
from swarm.peers.inviting import invite
from swarm.peers.kept import Rooms
from swarm.peers.standing import StandingPeer
from swarm.scenario.members import read_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.opening import publish_opening, sign_opening
from swarm.signed.identity import Identity
from tests.support.mcp_desks import FORMS as ANSWERS
from tests.support.mcp_desks import go
from tests.support.standing_site import scenario, script

ADA, DORA = Identity.new(), Identity.new()
MEMBERS = {"ada": ADA.public, "dora": DORA.public}
EVENTS = {"paid": {"by": "dora", "confirmed_by": "ada"}, "sent": {"by": "ada", "confirmed_by": "dora"}}


class Table:
    """Dora's desk, and what opens rooms for her and ada."""

    def __init__(self, desk: Desk, store: MemoryStore) -> None:
        self.desk = desk
        self._store = store

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = (await call(self.desk, tool, arguments)).structured_content
        return found

    async def open(self, slug: str, **more: Any) -> str:
        log = MemoryLog(self._store, key=ADA.public)
        entry = sign_opening(ADA, read_scenario(scenario(slug, MEMBERS, **more)).opening(MEMBERS), utc_now())
        await publish_opening(log, entry)
        await invite(log, ADA, entry.room, MEMBERS.values())
        return entry.room

    async def next(self) -> dict[str, Any]:
        while not (duties := (await self.call("wait"))["duties"]):
            pass
        found: dict[str, Any] = duties[0]
        return found

    async def give(self, duty: dict[str, Any], **more: Any) -> dict[str, Any]:
        tool, answer = ANSWERS[duty["act"]](duty["content"])
        step = {} if duty["act"] == "join" else {"step": duty["step"]}
        return await self.call(tool, room=duty["room"], **step, **answer, **more)


def seated(work: Callable[[Table], Awaitable[None]], **agent: Any) -> None:
    """Let ada stand as a script and dora with a desk, while *work* is done."""

    async def with_peers() -> None:
        store = MemoryStore()
        table = Table(Desk(DORA.public), store)
        desk, stop = table.desk, asyncio.Event()
        ada = StandingPeer(read_agent(script(**agent)), ADA, MemoryLog(store, key=ADA.public), rooms=Rooms(), stop=stop)
        dora = StandingPeer(
            read_agent({}),
            DORA,
            MemoryLog(store, key=DORA.public),
            rooms=Rooms(),
            accept=[ADA.public],
            stop=stop,
            seen=desk.seen,
            keep=True,
            minds=desk.mind,
        )
        desk.peer, desk.connected = dora, True
        tasks = [asyncio.create_task(peer.run()) for peer in (ada, dora)]
        try:
            await work(table)
        finally:
            stop.set()
            await asyncio.gather(*tasks)
            await desk.close()

    go(with_peers(), 40)


def test_an_option_that_is_refused_before_its_seal_is_on_no_record() -> None:
    """Protects sealed answers: what the client would have proposed is told to the client alone."""
    marker = "77.5-is-what-we-would-take"

    async def work(table: Table) -> None:
        room = await table.open("sealed")
        await table.give(await table.next())
        asked = await table.next()
        wrong = {"option": {"title": marker, "offer": {"day": marker}}}
        for outcome in ("sent_back", "excused"):
            became = await table.call("propose", room=room, step=asked["step"], **wrong)
            assert became["outcome"] == outcome, became
        assert became["because"] == "invalid: its answer is not valid"
        assert all(marker.encode() not in record.payload for record in table.desk.place(room).replica.fold.records)

    seated(work)


def test_acts_on_promises_are_said_or_refused_before_they_are() -> None:
    """Protects promises: each act's fate is told, what the rules would refuse is not said, and silence is a reason."""
    terms = {"id": "fee", "debtor": "dora", "creditor": "ada", "then": "paid within 1 hour of agreed"}

    async def work(table: Table) -> None:
        lives = {"id": "lives", "debtor": "ada", "creditor": "dora", "then": "sent within 1 hour of agreed"}
        room = await table.open("acts", agenda=["commitments"], events=EVENTS, promises=[lives])
        joining = await table.next()
        early = await table.call("report", room=room, event="paid")
        assert "not everybody has joined" in early["error"]
        await table.give(joining)
        while (await table.call("status", room=room))["step"] is not None:
            await asyncio.sleep(0.01)

        async def act(**said: Any) -> dict[str, Any]:
            return await table.call("act", room=room, act=said)

        made = await act(kind="commitment.create", commitments=[terms])
        assert (made["outcome"], made["body"]["commitments"]) == ("said", [terms])
        assert (await table.call("status", room=room))["promises"]["fee"]["state"] == "detached"
        assert (await act(kind="commitment.release", commitment="fee"))["outcome"] == "refused"
        assert (await act(kind="commitment.create", commitments=[{**terms, "id": "extra"}]))["outcome"] == "said"
        assert (await act(kind="commitment.cancel", commitment="extra", because="no"))["outcome"] == "said"
        assert (await table.call("status", room=room))["promises"]["extra"]["state"] == "violated"
        other = {**terms, "id": "gift", "debtor": "ada"}
        assert (await act(kind="commitment.create", commitments=[other]))["code"] == "not_allowed"
        reports = []
        while not reports:
            reports = [item for item in (await table.call("wait"))["news"] if item["what"] == "report_to_confirm"]
        assert (await table.call("dispute", room=room, report=reports[0]["report"], because="no"))["outcome"] == "said"
        assert (await table.call("confirm", room=room, report="f" * 64))["outcome"] == "refused"
        paid = await table.call("report", room=room, event="paid", attributes={"amount": "5"}, cost={"calls": 2})
        assert paid["body"] == {"kind": "event.report", "event": "paid", "attributes": {"amount": "5"}}
        while (await table.call("status", room=room))["promises"]["fee"]["state"] != "satisfied":
            await asyncio.sleep(0.01)
        assert (await act(kind="commitment.cancel", commitment="fee"))["outcome"] == "refused"
        said = [record.entry.body["kind"] for record in table.desk.place(room).replica.fold.records if record.entry]
        assert [kind for kind in said if kind in ("commitment.cancel", "commitment.release", "event.confirm")] == [
            "commitment.cancel",
            "event.confirm",
        ]
        standing = (await table.call("duties", room=room, briefing=False))["duties"][-1]
        assert (standing["act"], standing["step"], standing["seconds_left"]) == ("perform", None, None)
        assert [report["event"] for report in standing["content"]["done"]] == ["paid"]

    seated(work, performs=[{"event": "sent", "when": "agreed"}])


def test_with_its_budget_used_up_a_client_is_excused_and_told_so() -> None:
    """Protects budgets: what a client declares is counted, and what it has not any more it is not asked for."""

    async def work(table: Table) -> None:
        await table.open("budget", rules={"step_seconds": 20, "improvements": 0, "budget": {"member": {"calls": 1}}})
        assert (await table.give(await table.next()))["outcome"] == "said"
        asked = await table.next()
        assert asked["budget_left"] == {"tokens": None, "calls": 1}
        assert (await table.give(asked, cost={"calls": 1}))["outcome"] == "said"
        place = {"room": asked["room"], "step": "concord.ballot.1.seal"}
        while (status := await table.call("status", room=asked["room"]))["outcome"] is None:
            await asyncio.sleep(0.01)
        late = await table.call("score", **place, scores={})
        assert late["outcome"] == "too_late"
        assert "budget: nothing is left of its budget" in late["why"]
        assert status["outcome"] == "no_agreement"

    seated(work)


def test_rooms_at_once_are_kept_apart_and_those_over_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a desk that stands for long: every room's duties are its own, and what is over does not pile up."""
    monkeypatch.setattr(desks, "MOST_OVER", 1)

    async def work(table: Table) -> None:
        rooms = [await table.open(f"room{number}") for number in range(3)]
        over = set()
        while len(over) < 3:
            found = await table.call("wait")
            over |= {item["room"] for item in found["news"] if item["what"] == "over"}
            for duty in found["duties"]:
                assert (await table.give(duty))["outcome"] == "said"
        assert over == set(rooms)
        last = await table.open("room3")
        await table.next()
        assert len(table.desk.names) == 2
        assert last in table.desk.names

    seated(work)


def test_what_is_shown_is_json_whatever_it_holds() -> None:
    """Protects screens and parsers: the text reads back exactly, and holds nothing that cannot be seen."""
    plain = {"text": "Tür \u202e\u0007\u200d\U000e0041\n é 漢 \u2028 end", "n": [1, None, True]}
    text = shown(plain)
    assert json.loads(text) == plain
    assert text.isprintable()
    assert "Tür" in text
    assert "漢" in text


@pytest.mark.parametrize("tool", FORMS)
def test_every_tool_refuses_what_it_does_not_know(tool: str) -> None:
    """Protects against typos and smuggling: unknown fields are an error in every tool, and its schema says so."""
    with pytest.raises(ValueError, match="surprise: Extra inputs are not permitted"):
        read_arguments(tool, {"surprise": 1})
    assert input_schema(tool)["additionalProperties"] is False
    assert '"title": "' not in json.dumps(input_schema(tool))
