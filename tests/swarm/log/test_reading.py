"""Reading through answers that are cut short, late, contradictory or forged; JetStream's refusals by their codes."""

import asyncio
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.core.instants import parse_instant
from swarm.errors import LogFull, RolledBack, TooLarge, Unavailable, WireError, WrongLast
from swarm.log import directget as dg
from swarm.log.connection import Closed, Reply
from swarm.log.jetstream import JetStreamLog

A, B = "swarm.room.r.A", "swarm.room.r.B"


def record(sequence: int, previous: int = 0, subject: str = A, own: str = "") -> Reply:
    head = f"NATS/1.0\r\n{own}Nats-Stream: SWARM\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}\r\n"
    head += f"Nats-Time-Stamp: 2026-01-31T17:00:00Z\r\nNats-Num-Pending: 9\r\nNats-Last-Sequence: {previous}\r\n\r\n"
    return Reply(head.encode(), b"payload %d" % sequence)


def eob(last: int, pending: int = 0, upper: int = 0) -> Reply:
    up_to = f"Nats-UpTo-Sequence: {upper}\r\n" if upper else ""
    head = f"NATS/1.0 204 EOB\r\nNats-Num-Pending: {pending}\r\nNats-Last-Sequence: {last}\r\n{up_to}\r\n"
    return Reply(head.encode(), b"")


NOTHING = Reply(b"NATS/1.0 404 No Results\r\n\r\n", b"")
NOBODY = Reply(b"NATS/1.0 503\r\n\r\n", b"")
SILENCE = Unavailable("no answer in time")


class Scripted:
    """In the place of a connection: gives the next scripted answer and keeps what was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def call(self, subject, payload, *, headers=b"", deadline, quiet_s=None, ends=None, most=None):
        self.asked.append(json.loads(payload) if subject.startswith("$JS") else (subject, headers, payload))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def subscribe(self, subject, handler, deadline):
        self.handler = handler
        return 1

    async def unsubscribe(self, number):
        pass


def log_on(*answers):
    connection = Scripted(*answers)
    return JetStreamLog(connection), connection


def sequences(cut):
    return [each.sequence for each in cut.records]


@pytest.mark.parametrize(
    "damaged",
    [
        [NOBODY],
        SILENCE,
        [Reply(b"NATS/1.0 408 Bad Request\r\n\r\n", b"")],
        [record(1), record(5, previous=3), eob(5)],  # one was lost between
        [record(3, previous=1), eob(3)],  # the first was lost
        [record(1), eob(3)],  # the last was lost
        [NOTHING],  # a replica that does not hold them yet
    ],
)
def test_an_answer_that_is_not_whole_is_asked_for_again(run, damaged):
    log, connection = log_on(
        [record(5), eob(5, upper=6)], damaged, [record(5), eob(5, upper=6)], [record(1), record(5, 1), eob(5)]
    )
    cut = run(log.read("r", ["A"], {}))
    assert sequences(cut) == [1, 5]
    assert connection.answers == []


def test_an_empty_answer_is_final_and_a_missing_one_is_not(run):
    log, _ = log_on([NOTHING])
    assert run(log.read("r", ["A"], {})).records == []
    log, _ = log_on(*[[NOBODY]] * 50)
    with pytest.raises(Unavailable):
        run(log.read("r", ["A"], {}, timeout_s=0.1))


def test_an_author_who_said_nothing_new_is_not_read(run):
    log, connection = log_on([record(4), record(9, 4, B), eob(9, upper=12)], [record(9, 0, B), eob(9)])
    cut = run(log.read("r", ["A", "B"], {"A": 4, "B": 7}))
    assert (sequences(cut), cut.upper) == ([9], 12)
    assert [ask.get("next_by_subj") for ask in connection.asked] == [None, B]


def test_what_is_stored_after_the_cut_is_left_for_the_next_one(run):
    late = [record(4), record(7, 4), record(9, 7), eob(9)]
    log, _ = log_on([record(7), eob(7, upper=8)], late)
    cut = run(log.read("r", ["A"], {}))
    assert (sequences(cut), cut.upper) == ([4, 7], 8)


def test_last_records_that_do_not_fit_one_answer_are_asked_for_as_of_the_same_sequence(run):
    log, connection = log_on(
        [record(3, 0, B), eob(3, pending=1, upper=8)],
        [record(4), eob(4, upper=8)],
        [record(3, 0, B), eob(3)],
        [record(4), eob(4)],
    )
    cut = run(log.read("r", ["A", "B"], {}))
    assert (sequences(cut), cut.upper) == ([3, 4], 8)
    assert connection.asked[1]["multi_last"] == [A] and connection.asked[1]["up_to_seq"] == 8


def test_a_replica_without_this_clients_own_record_is_asked_again(run):
    ack = [Reply(b"", b'{"stream":"SWARM","seq":5}')]
    stale, fresh = [record(2), eob(2, upper=4)], [record(5), eob(5, upper=5)]

    async def scenario():
        log, connection = log_on(ack, stale, fresh, [record(2), record(5, 2), eob(5)], [record(2)], [record(5)])
        await log.append("r", "A", b"x", expected_last=2)
        assert sequences(await log.read("r", ["A"], {})) == [2, 5]
        assert (await log.last("r", "A")).sequence == 5
        assert connection.answers == []

    run(scenario())


def test_a_record_that_stays_gone_is_a_rollback_not_a_lag(run):
    log, _ = log_on(*[[record(2), eob(2, upper=2)]] * 50)
    with pytest.raises(RolledBack):
        run(log.read("r", ["A"], {"A": 5}, timeout_s=0.1))
    log, _ = log_on([Reply(b"", b'{"stream":"SWARM","seq":5}')], *[[NOTHING]] * 50)

    async def scenario():
        await log.append("r", "A", b"x", expected_last=0)
        with pytest.raises(RolledBack):
            await log.last("r", "A", timeout_s=0.1)

    run(scenario())


def test_after_a_wakeup_the_room_is_read_on_in_one_request_if_that_is_short(run):
    async def scenario():
        tail = [record(9, 0, B), record(10, 9, "swarm.room.r.STRANGER"), record(11, 10), eob(11)]
        log, connection = log_on(
            [record(4), eob(4, upper=7)], [record(4), eob(4)], tail, [record(11), record(9, 11, B), eob(9, upper=11)]
        )
        async with log.wakeups("r"):
            await log.read("r", ["A", "B"], {})
            connection.handler(b"swarm.log.r.A", record(11).headers, b"")
            cut = await log.read("r", ["A", "B"], {"A": 4})
            assert (sequences(cut), cut.upper) == ([9, 11], 11)
            assert connection.asked[2]["next_by_subj"] == "swarm.room.r.*" and connection.asked[2]["seq"] == 8
            # Nothing new was announced: then nobody is taken at the word that there is nothing.
            await log.read("r", ["A", "B"], {"A": 11, "B": 9})
            assert "multi_last" in connection.asked[3]

    run(scenario())


@pytest.mark.parametrize("tail", [[NOTHING], [record(9, 0, "swarm.room.r.STRANGER"), eob(9, pending=3)]])
def test_where_reading_on_does_not_do_authors_are_read_one_by_one(run, tail):
    async def scenario():
        log, connection = log_on(
            [record(4), eob(4, upper=7)],
            [record(4), eob(4)],
            tail,
            [record(11), eob(11, upper=11)],
            [record(11), eob(11)],
        )
        async with log.wakeups("r"):
            await log.read("r", ["A"], {})
            connection.handler(b"swarm.log.r.A", record(11).headers, b"")
            cut = await log.read("r", ["A"], {"A": 4})
        assert (sequences(cut), cut.upper, connection.answers) == ([11], 11, [])

    run(scenario())


def test_a_lower_upper_bound_than_before_is_ignored(run):
    async def scenario():
        log, _ = log_on([record(4), eob(4, upper=9)], [record(4), eob(4)], [record(4), eob(4, upper=5)])
        assert (await log.read("r", ["A"], {})).upper == 9
        assert (await log.read("r", ["A"], {"A": 4})).upper == 9

    run(scenario())


def test_a_closed_connection_is_not_asked_again(run):
    log, connection = log_on(Closed("closed"), [NOTHING])
    with pytest.raises(Unavailable):
        run(log.read("r", ["A"], {}, timeout_s=30))
    assert len(connection.asked) == 1


def refusal(code: int, number: int) -> list[Reply]:
    error = {"error": {"code": code, "err_code": number, "description": "why"}, "stream": "SWARM", "seq": 0}
    return [Reply(b"", json.dumps(error).encode())]


@pytest.mark.parametrize(
    ("code", "number", "error"),
    [
        (400, 10071, WrongLast),
        (400, 10164, WrongLast),  # a cluster's: another append is on its way
        (503, 10077, LogFull),
        (503, 10023, LogFull),
        (400, 10054, TooLarge),
        (400, 10999, WireError),
    ],
)
def test_a_refused_append_says_why_and_is_not_repeated(run, code, number, error):
    log, connection = log_on(refusal(code, number))
    with pytest.raises(error) as caught:
        run(log.append("r", "A", b"x", expected_last=0, timeout_s=30))
    assert type(caught.value) is error
    assert len(connection.asked) == 1


def test_an_attempt_that_the_deadline_cuts_short_does_not_hide_what_was_found(run):
    """A rollback seen again and again stays one, even if the last request ran out of time."""

    class Slow(Scripted):
        async def call(self, subject, payload, *, deadline, **rest):
            if not self.answers:
                await asyncio.sleep(deadline - asyncio.get_running_loop().time() + 0.001)
                raise SILENCE
            return await super().call(subject, payload, deadline=deadline, **rest)

    log = JetStreamLog(Slow(*[[record(2), eob(2, upper=2)]] * 3))
    with pytest.raises(RolledBack):
        run(log.read("r", ["A"], {"A": 5}, timeout_s=0.2))


def test_an_append_that_nobody_took_is_repeated_and_one_in_doubt_is_not(run):
    ack = [Reply(b"", b'{"stream":"SWARM","seq":5}')]
    log, connection = log_on([NOBODY], refusal(503, 10008), ack)
    assert run(log.append("r", "A", b"x", expected_last=0)) == 5
    assert len(set(connection.asked)) == 1 and len(connection.asked) == 3
    log, connection = log_on(SILENCE, ack)
    with pytest.raises(Unavailable):
        run(log.append("r", "A", b"x", expected_last=0, timeout_s=30))
    assert len(connection.asked) == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"{}", b'{"seq":"x"}', b"[" * 100_000, b'{"error":7}'])
def test_an_acknowledgement_that_cannot_be_read_leaves_it_open(run, data):
    log, _ = log_on([Reply(b"", data)])
    with pytest.raises(Unavailable):
        run(log.append("r", "A", b"x", expected_last=0))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-11-30T17:10:24.645663885Z", "2026-11-30T17:10:24.645663Z"),
        ("2026-11-30T17:10:24.9999999Z", "2026-11-30T17:10:24.999999Z"),  # cut, never rounded
        ("2026-11-30T17:10:24.6Z", "2026-11-30T17:10:24.600000Z"),
        ("2026-11-30T17:10:24Z", "2026-11-30T17:10:24.000000Z"),
        ("2026-11-30T19:10:24.1+02:00", "2026-11-30T17:10:24.100000Z"),
    ],
)
def test_store_times_are_cut_to_microseconds(text, same):
    assert dg.parse_store_time(text) == parse_instant(same)


@given(st.binary(max_size=200))
def test_a_publishers_own_header_lines_neither_end_nor_alter_a_record(own):
    """The server appends its lines to whatever was published, having cut two bytes off its end."""
    forged = b"NATS/1.0 204 EOB\r\nNats-Sequence: 77\r\nNats-Subject: swarm.room.r.B\r\nNats-Time-Stamp: x\r\n" + own
    headers = forged + record(5).headers.removeprefix(b"NATS/1.0\r\n")
    assert not dg.ends_batch(headers)
    assert dg.parse_record(headers, b"p") == dg.parse_record(record(5).headers, b"p")


@given(st.sampled_from([b"Nats-Sequence: ", b"Nats-Num-Pending: ", b"Nats-Subject: "]), st.binary(max_size=300))
def test_whatever_a_server_sends_is_read_or_refused(name, noise):
    headers = b"NATS/1.0 204 EOB\r\n" + name + noise
    dg.sequence_of(headers)
    for parse in (dg.parse_end, lambda headers: dg.parse_record(headers, b"")):
        with contextlib.suppress(Unavailable):
            parse(headers)
