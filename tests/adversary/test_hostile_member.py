"""A member that does what it wants, on a real server with real keys: it harms nobody's word, and is named."""

from typing import Any

from protocols.duties.duties import Duty, RatifyDuty, RevealDuty, ScoreDuty
from protocols.messages.room import seal_digest
from swarm.signed.entry import parse_entry
from swarm.signed.identity import Identity
from swarm.signed.sealing import seal
from tests.support.hand_made import Insider, Siege
from tests.support.sieges import room

BALLOT = "concord.ballot.1"


def agreed(siege: Siege) -> None:
    assert siege.outcomes == {"agreed"}, siege.came_to


def ends_with(siege: Siege, outcome: str, reason: str) -> None:
    for summary in siege.came_to.values():
        assert (summary["outcome"], summary["reason"]) == (outcome, reason)


# -- in another's name ------------------------------------------------------------------------------------------------


def test_a_forged_author_is_no_record_and_a_forged_signature_a_bad_one(siege: Siege, run: Any) -> None:
    """On its own subject it can put what it likes: another's name is skipped by all, another's signature is false."""

    async def work() -> None:
        async with siege.room(room()) as cyd:
            leave = {"kind": "room.leave", "because": "forged"}
            bob = siege.identities["bob"].public.encode()
            named = cyd.sign(leave).payload.replace(cyd.identity.public.encode(), bob)
            before = cyd.replica.fold.chain.position
            await cyd.wire.ask(cyd.subject(), named)
            stranger = cyd.sign(leave, identity=Identity.new()).payload
            await cyd.wire.ask(cyd.subject(), stranger)
            theirs = cyd.replica.fold.records[0].payload
            await cyd.wire.ask(cyd.subject(), theirs)
            borrowed = stranger.replace(parse_entry(stranger).author.encode(), cyd.identity.public.encode())
            assert await cyd.put(borrowed) == ["bad_signature"]
            mine = [r for r in cyd.replica.fold.records[before:] if r.author == cyd.identity.public]
            assert [r.payload for r in mine] == [borrowed]
            await cyd.play()

    run(work())
    agreed(siege)
    assert siege.blamed("bad_signature") == ["cyd"] and siege.blamed("left") == []


# -- a true signature in the wrong place ------------------------------------------------------------------------------


def test_an_entry_replayed_into_another_room_is_refused(siege: Siege, run: Any) -> None:
    """Its own acceptance of one room is no acceptance of the next, though the options have the same ids."""

    async def work() -> None:
        accepts: list[bytes] = []

        async def keep(cyd: Insider, duty: Duty) -> bool:
            if isinstance(duty, RatifyDuty):
                accepts.append(cyd.sign(cyd.body(duty)).payload)
            return False

        async def replay(cyd: Insider, duty: Duty) -> bool:
            if isinstance(duty, RatifyDuty):
                assert await cyd.put(accepts[0]) == ["wrong_room"]
            return False

        for instead in (keep, replay):
            async with siege.room(room()) as cyd:
                await cyd.play(instead)

    run(work())
    agreed(siege)
    assert siege.blamed("wrong_room") == ["cyd"]


def test_an_entry_replayed_is_a_duplicate_and_into_another_step_not_open(siege: Siege, run: Any) -> None:
    """The same bytes have no second effect, and a body for a step that is closed answers no other."""

    async def work() -> None:
        said: list[bytes] = []

        async def replay(cyd: Insider, duty: Duty) -> bool:
            if isinstance(duty, ScoreDuty):
                entry = cyd.sign(cyd.body(duty))
                said.append(entry.payload)
                await cyd.put(entry.payload)
                return True
            if isinstance(duty, RevealDuty) and said:
                assert await cyd.put(said[0]) == ["duplicate"]
                assert await cyd.say(parse_entry(said[0]).body) == ["late"]
                assert await cyd.say({**parse_entry(said[0]).body, "step": duty.step}) == ["wrong_kind"]
                changed = said[0].replace(f"{BALLOT}.seal".encode(), f"{BALLOT}.reveal".encode())
                assert await cyd.put(changed) == ["bad_signature"]
            return False

        async with siege.room(room()) as cyd:
            await cyd.play(replay)

    run(work())
    agreed(siege)
    assert siege.blamed("duplicate") == siege.blamed("late") == siege.blamed("wrong_kind") == ["cyd"]


def test_a_signature_under_one_kind_is_none_under_another(siege: Siege, run: Any) -> None:
    """A reveal does not become a ratification: the kind is inside the signed bytes."""

    async def work() -> None:
        async def swap(cyd: Insider, duty: Duty) -> bool:
            if isinstance(duty, RatifyDuty):
                payload = cyd.sign(cyd.body(duty)).payload
                assert await cyd.put(payload.replace(b"concord.ratify", b"concord.reveal")) == ["bad_signature"]
                assert await cyd.put(payload.replace(b'"accept":true', b'"accept":null')) == ["bad_signature"]
            return False

        async with siege.room(room()) as cyd:
            await cyd.play(swap)

    run(work())
    agreed(siege)


# -- sealed answers ---------------------------------------------------------------------------------------------------


def test_a_ballot_copied_before_its_reveal_cannot_be_opened(siege: Siege, run: Any) -> None:
    """Another's seal repeated is nobody's ballot: the true content and nonce do not open it under another key."""

    async def work() -> None:
        async def copy(cyd: Insider, duty: Duty) -> bool:
            if isinstance(duty, ScoreDuty):
                round_ = cyd.round(f"{BALLOT}.seal")
                await cyd.until(lambda: "ann" in round_.seals)
                await cyd.say({"kind": "seal", "step": duty.step, "digest": round_.seals["ann"], "box": "AA"})
                return True
            if duty.step == f"{BALLOT}.reveal":
                ann = await _revealed(cyd, "ann")
                assert await cyd.say({**ann, "step": duty.step}) == ["reveal_mismatch"]
                return True
            return False

        async with siege.room(room()) as cyd:
            await cyd.play(copy)

    run(work())
    ends_with(siege, "no_agreement", "no_quorum: cyd (seal_not_opened)")
    assert siege.blamed("reveal_mismatch") == siege.blamed("seal_not_opened") == ["cyd"]


async def _revealed(cyd: Insider, name: str) -> dict[str, Any]:
    """Wait until *name* has revealed its ballot, and return what it said."""
    key = next(key for key, each in cyd.replica.fold.names.items() if each == name)

    def said() -> dict[str, Any] | None:
        entries = [record.entry for record in cyd.replica.fold.records if record.author == key and record.entry]
        return next((e.body for e in entries if e.kind == "reveal" and e.body["step"] == f"{BALLOT}.reveal"), None)

    found: dict[str, Any] = await cyd.until(said)
    return found


def test_nothing_of_a_ballot_can_be_read_before_its_reveal(siege: Siege, run: Any) -> None:
    """What is public of two very different ballots has one form and one length."""
    room_, step = "r", f"{BALLOT}.seal"
    short = seal(siege.identities["ann"], room_, step, {"scores": {"a": 1}})
    long = seal(siege.identities["ann"], room_, step, {"scores": {"a" * 40: 100, "b" * 40: 90}})
    assert len(short.box) == len(long.box) and len(short.digest) == len(long.digest)
    again = seal(siege.identities["ann"], room_, step, {"scores": {"a": 1}})
    assert (short.box, short.digest) != (again.box, again.digest)


def test_a_reveal_unlike_its_seal_is_refused_and_the_true_one_counts(siege: Siege, run: Any) -> None:
    """Nobody changes its ballot after seeing the others': only what was sealed opens the seal, once."""

    async def work() -> None:
        async def change(cyd: Insider, duty: Duty) -> bool:
            if duty.step == f"{BALLOT}.reveal":
                true = cyd.body(duty)
                ann = await _revealed(cyd, "ann")
                better = {**true["content"], "scores": ann["content"]["scores"]}
                assert await cyd.say({**true, "content": better}) == ["reveal_mismatch"]
                assert await cyd.say({**true, "nonce": "0" * 64}) == ["reveal_mismatch"]
                assert await cyd.say(true) == []
                return True
            return False

        async with siege.room(room()) as cyd:
            await cyd.play(change)

    run(work())
    agreed(siege)
    assert siege.blamed("reveal_mismatch") == ["cyd", "cyd"] and siege.blamed("seal_not_opened") == []


def test_who_seals_looks_and_then_excuses_itself_is_named(siege: Siege, run: Any) -> None:
    """An excuse after the seal is a seal not opened: it stops the choice, and everybody reads by whom."""

    async def work() -> None:
        async def look(cyd: Insider, duty: Duty) -> bool:
            if duty.step == f"{BALLOT}.reveal":
                await _revealed(cyd, "ann")
                await cyd.say({"kind": "room.excuse", "step": duty.step, "because": "I do not like what I see"})
                return True
            return False

        async with siege.room(room()) as cyd:
            await cyd.play(look)

    run(work())
    ends_with(siege, "no_agreement", "no_quorum: cyd (seal_not_opened)")
    assert siege.blamed("seal_not_opened") == siege.blamed("excused") == ["cyd"]


def test_two_ballots_under_one_number_are_an_equivocation(siege: Siege, run: Any) -> None:
    """The first stands, the second is kept beside it: two signatures that only one key can have made."""

    async def work() -> None:
        async def equivocate(cyd: Insider, duty: Duty) -> bool:
            if isinstance(duty, ScoreDuty):
                await cyd.replica.refresh()
                one, two = cyd.sign(cyd.body(duty)), cyd.sign(cyd.body(duty))
                assert one.n == two.n and one.id != two.id
                await cyd.put(one.payload)
                assert await cyd.put(two.payload) == ["equivocation"]
                kept = [r.entry for r in cyd.replica.fold.records if r.entry and r.entry.n == one.n]
                assert {one.id, two.id} <= {entry.id for entry in kept}
                return True
            return False

        async with siege.room(room()) as cyd:
            await cyd.play(equivocate)

    run(work())
    agreed(siege)
    assert siege.blamed("equivocation") == ["cyd"]


def test_a_seal_digest_names_room_author_and_step() -> None:
    """What makes copying useless: the same content and nonce seal to something else anywhere else."""
    here = ("room", "key", "step", "0" * 64, {"a": 1})
    elsewhere = [("other", *here[1:]), (here[0], "other", *here[2:]), (*here[:2], "other", *here[3:])]
    assert len({seal_digest(*each) for each in [here, *elsewhere]}) == 4
