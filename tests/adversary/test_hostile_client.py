"""A member's key in a hand-made client, on a real server: what the server lets it do, and what that costs others."""

import asyncio
import json
from typing import Any

import pytest

from protocols.duties.duties import Duty, ScoreDuty
from swarm.broker.server import Broker
from swarm.errors import LogFull
from swarm.log.jetstream import JetStreamLog
from swarm.log.streams import INVITES_BYTES
from swarm.peers.inviting import invite
from swarm.signed.identity import Identity
from swarm.signed.sizes import MAX_INVITATION_BYTES
from tests.support.hand_made import Insider, Refused, Siege, Wire
from tests.support.sieges import AUTHOR_CAP, agent_of, room


def agreed(siege: Siege) -> None:
    assert siege.outcomes == {"agreed"}, siege.came_to


def ends_with(siege: Siege, outcome: str, reason: str) -> None:
    for summary in siege.came_to.values():
        assert (summary["outcome"], summary["reason"]) == (outcome, reason)


@pytest.mark.parametrize("target", ["swarm.room.{room}.{ann}", "swarm.log.{room}.{ann}", "swarm.room.{room}.{ann}.x"])
def test_anothers_subject_is_closed(siege: Siege, run: Any, target: str) -> None:
    """The server refuses the publication by name, and nothing of it is stored."""

    async def work() -> None:
        async with siege.room(room()) as cyd:
            subject = target.format(room=cyd.room, ann=siege.key("ann"))
            with pytest.raises(Refused, match=r"(?i)permissions violation"):
                await cyd.wire.ask(subject, b"mine")
            await cyd.play()

    run(work())
    agreed(siege)
    assert siege.came_to["ann"]["findings"] == []


# -- the server's own powers ------------------------------------------------------------------------------------------

FORBIDDEN = {
    "consumer": "$JS.API.CONSUMER.CREATE.SWARM",
    "durable consumer": "$JS.API.CONSUMER.DURABLE.CREATE.SWARM.mine",
    "filtered consumer": "$JS.API.CONSUMER.CREATE.SWARM.mine.swarm.room.>",
    "purge": "$JS.API.STREAM.PURGE.SWARM",
    "delete the stream": "$JS.API.STREAM.DELETE.SWARM",
    "update the stream": "$JS.API.STREAM.UPDATE.SWARM",
    "delete a message": "$JS.API.STREAM.MSG.DELETE.SWARM",
    "restore": "$JS.API.STREAM.RESTORE.SWARM",
    "a stream of its own": "$JS.API.STREAM.CREATE.MINE",
    "purge the invitations": "$JS.API.STREAM.PURGE.SWARM_INVITES",
    "account": "$SYS.REQ.ACCOUNT.PING",
}


def test_no_consumers_no_purges_no_deletions(siege: Siege, run: Any) -> None:
    """All that could read, change or erase the stream is refused at once, and the room goes on undisturbed."""

    async def work() -> None:
        async with siege.room(room()) as cyd:
            for what, subject in FORBIDDEN.items():
                with pytest.raises(Refused, match=r"(?i)permissions violation"):
                    await cyd.wire.ask(subject, json.dumps({"seq": 1, "filter": "swarm.>"}).encode())
                assert not cyd.wire.closed, what
            for subject in ("swarm.room.>", "$JS.>", ">", f"_INBOX_{siege.key('ann')}.>"):
                with pytest.raises(Refused, match=r"(?i)permissions violation"):
                    await cyd.wire.subscribe(subject)
            await cyd.play()

    run(work())
    agreed(siege)
    assert siege.came_to["ann"]["findings"] == []


def test_the_victims_message_id_swallows_nothing(siege: Siege, run: Any) -> None:
    """Ids are anyone's to use first, so an entry has none: what carries another's ids costs it nothing."""

    async def work() -> None:
        async def use_up(cyd: Insider, duty: Duty) -> bool:
            chain = cyd.replica.fold.chain
            guesses = [siege.key("ann"), siege.key("bob"), cyd.room, chain.head, duty.step or ""]
            guesses += [f"{siege.key('ann')}.{n}" for n in range(1, 9)]
            for guess in guesses:
                headers = b"NATS/1.0\r\nNats-Msg-Id: " + guess.encode() + b"\r\n\r\n"
                await cyd.wire.send(cyd.subject(), b"x", headers=headers)
            await cyd.wire.settle()
            return False

        async with siege.room(room()) as cyd:
            await cyd.play(use_up)

    run(work())
    agreed(siege)
    assert set(siege.blamed("not_json")) == {"cyd"}


def test_a_flood_stops_at_its_cap_and_harms_only_itself(siege: Siege, run: Any) -> None:
    """The one that floods can say nothing more in this room; the others end it and sit in the next."""

    async def work() -> None:
        async def flood(cyd: Insider, duty: Duty) -> bool:
            if not isinstance(duty, ScoreDuty):
                return False
            for _ in range(AUTHOR_CAP):
                await cyd.wire.send(cyd.subject(), b"x")
            await cyd.wire.settle()
            with pytest.raises(Refused, match="10077"):
                await cyd.wire.ask(cyd.subject(), b"x")
            return True

        async with siege.room(room()) as cyd:
            playing = asyncio.create_task(cyd.play(flood))
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        ends_with(siege, "no_agreement", "no_quorum: cyd (silent)")
        async with siege.room(room()) as cyd:
            await cyd.play()

    run(work())
    agreed(siege)


BIG = 10 * 1024**2


@pytest.mark.parametrize(
    ("what", "payload", "code"),
    [
        ("10,000 deep", b"[" * 10_000, "too_deep"),
        ("10,000 deep and closed", b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "too_deep"),
        ("5,000 digits", b'{"v":' + b"9" * 5_000 + b"}", "not_canonical"),
        ("a lone surrogate", b'{"a":"\\ud83d"}', "not_json"),
        ("a key twice", b'{"option":"A","opt\\u0069on":"B"}', "duplicate_key"),
    ],
)
def test_payloads_that_break_parsers_are_kept_with_their_code(
    siege: Siege, run: Any, what: str, payload: bytes, code: str
) -> None:
    """What no parser should have to read is stored by the server and costs the room nothing but its name."""

    async def work() -> None:
        async with siege.room(room()) as cyd:
            assert await cyd.put(payload) == [code], what
            await cyd.play()

    run(work())
    agreed(siege)
    assert siege.blamed(code) == ["cyd"]


def test_ten_megabytes_reach_nobody(siege: Siege, run: Any) -> None:
    """Over the entry's limit the stream refuses, over the server's the connection is cut: nothing is stored."""

    async def work() -> None:
        async with siege.room(room()) as cyd:
            with pytest.raises(Refused, match="10054"):
                await cyd.wire.ask(cyd.subject(), b"x" * (257 * 1024 + 1))
            with pytest.raises(Refused, match=r"(?i)maximum payload"):
                await cyd.wire.ask(cyd.subject(), b"x" * BIG)
            assert cyd.wire.closed
            cyd.wire = await Wire.open(siege.url, siege.identities["cyd"])
            try:
                # With headers in the count a payload of the entry's limit and a byte is still stored, and too large.
                assert await cyd.put(b"x" * (256 * 1024 + 1)) == ["too_large"]
                await cyd.play()
            finally:
                await cyd.wire.close()

    run(work())
    agreed(siege)
    assert siege.blamed("too_large") == ["cyd"]


def test_a_stranger_is_not_let_in(siege: Siege, run: Any) -> None:
    """Who holds no member's key is hung up on before it has said anything."""

    async def work() -> None:
        for identity in (Identity.new(), None):
            wire = await Wire.open(siege.url, identity)
            try:
                assert wire.closed and wire.pongs == 0
            finally:
                await wire.close()
        member = await Wire.open(siege.url, siege.identities["cyd"])
        assert not member.closed and member.pongs == 1
        await member.close()

    run(work())


# -- not held: docs/security.md says so -------------------------------------------------------------------------------


def test_not_held_a_member_can_fill_the_store(run: Any) -> None:
    """A cap on each subject of a room is none on all rooms: a full store takes nobody's word, and all stop by name."""

    async def work() -> None:
        keys = {name: Identity.new() for name in Siege.NAMES}
        async with Broker(members=[each.public for each in keys.values()], store_limit_bytes=8 * 1024**2) as broker:
            siege = Siege(broker.url, keys, agent_of)
            wire = await Wire.open(broker.url, keys["cyd"])
            with pytest.raises(Refused, match=r"10023|10047|10077"):
                for number in range(64):
                    await wire.ask(f"swarm.room.made-up-{number}.{keys['cyd'].public}", b"x" * 256 * 1024)
            await wire.close()
            with pytest.raises(LogFull):
                async with siege.room(room()):
                    pass

    run(work())


def test_not_held_a_member_can_push_out_the_invitations_of_others(siege: Siege, run: Any) -> None:
    """They are pointers in a stream of limited size: who was away is invited again, and the room is untouched."""

    async def work() -> None:
        ann, bob = siege.identities["ann"], siege.identities["bob"]
        async with await JetStreamLog.connect(siege.url, identity=ann) as log:
            entry = await siege.opened(log, room())
            await invite(log, ann, entry.room, [bob.public])
            assert len(await log.invitations(bob.public)) == 1
            wire = await Wire.open(siege.url, siege.identities["cyd"])
            size = MAX_INVITATION_BYTES
            for number in range(INVITES_BYTES // size + 256):
                subject = f"swarm.invite.made-up-{number}.{siege.key('cyd')}"
                # Now and then acknowledged: what comes faster than it can be stored is dropped.
                await (wire.send(subject, b"x" * size) if number % 64 else wire.ask(subject, b"x" * size))
            await wire.ask(f"swarm.invite.made-up.{siege.key('cyd')}", b"x")
            await wire.close()
            assert await log.invitations(bob.public) == []
            await invite(log, ann, entry.room, [bob.public])
            assert len(await log.invitations(bob.public)) == 1
            assert (await log.earliest(entry.room))[0].payload == entry.payload

    run(work())
