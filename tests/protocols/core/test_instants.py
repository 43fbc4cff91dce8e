"""Times and durations: read strictly, compared as integers, written in one form."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.core.instants import (
    DAY,
    FIRST,
    HOUR,
    LAST,
    MINUTE,
    SECOND,
    WEEK,
    Duration,
    between,
    format_duration,
    format_instant,
    later,
    parse_duration,
    parse_instant,
    parse_wire_instant,
    show_instant,
)

MALFORMED = [
    "12:34:56.Z",
    "2026-03-01T12:34:56.Z",
    "2026-03-01T12345678",
    "2026-03-01T12:34:56",
    "2026-03-01T12:34:56,5Z",
    "2026-03-01 12:34:56Z",
    "2026-W09-7T12:34:56Z",
    "2026-060T12:34:56Z",
    "2026-03-01T12:34:56+01:00:30",
    "2026-03-01T12:34:56.123456789Z",
    "2026-03-01T12:34:56z",
    "2026-03-01t12:34:56Z",
    "2026-03-01T12:34Z",
    "2026-02-29T12:34:56Z",
    "2026-13-01T12:34:56Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T12:60:00Z",
    "2026-03-01T12:34:56+24:00",
    "2026-03-01T12:34:56+01:60",
    "0000-03-01T12:34:56Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "2026-03-01T12:34:56Z ",
    "2026-03-01T12:34:56Z\n",
    "\u0662026-03-01T12:34:56Z",
    "",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_time_is_refused_with_itself_in_the_message(text: str) -> None:
    """Protects deadlines: what Python would take leniently is no time here, and the complaint shows it."""
    with pytest.raises(ValueError) as refused:
        parse_instant(text)
    assert repr(text) in str(refused.value)


def test_a_leap_second_is_refused_by_name() -> None:
    """Protects people who wonder why."""
    with pytest.raises(ValueError, match="leap second"):
        parse_instant("2016-12-31T23:59:60Z")


def test_instants_are_compared_not_text() -> None:
    """Half past midnight in Paris is before eleven at night in London, though its text sorts after."""
    act, deadline = "2026-03-01T00:30:00+02:00", "2026-02-28T23:00:00Z"
    assert act > deadline
    assert parse_instant(act) < parse_instant(deadline)


@given(st.integers(FIRST, LAST))
def test_every_instant_is_written_in_one_form_and_read_back(instant: int) -> None:
    """Protects hashes: six fraction digits always, also where they are zero; the library agrees on the date."""
    text = format_instant(instant)
    assert len(text) == 27
    assert parse_wire_instant(text) == parse_instant(text) == parse_instant(show_instant(instant)) == instant
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    assert text == moment.strftime("%Y-%m-%dT%H:%M:%S.%f").rjust(26, "0") + "Z"


@pytest.mark.parametrize("text", ["2026-03-01T12:34:56Z", "2026-03-01T12:34:56.1Z", "2026-03-01T12:34:56.000000+00:00"])
def test_entries_carry_one_form_only(text: str) -> None:
    """Protects canonical bytes: another spelling of the same instant is not that form."""
    parse_instant(text)
    with pytest.raises(ValueError):
        parse_wire_instant(text)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("30 seconds", 30 * SECOND),
        ("1 second", SECOND),
        ("90 minutes", 90 * MINUTE),
        ("36 hours", 36 * HOUR),
        ("5 days", 5 * DAY),
        ("2 weeks", 2 * WEEK),
        ("P5D", 5 * DAY),
        ("P2W", 2 * WEEK),
        ("PT36H", 36 * HOUR),
        ("P1DT2H3M4S", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND),
        ("0 seconds", 0),
    ],
)
def test_durations(text: str, duration: int) -> None:
    """Protects windows: words and ISO 8601, whole numbers of fixed units."""
    assert parse_duration(text) == duration
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    "text",
    [
        "1 month",
        "P1M",
        "P1Y",
        "1.5 days",
        "P0.5D",
        "-1 days",
        "5days",
        "P",
        "PT",
        "P1DT",
        "P1W2D",
        "days",
        "",
        "9" * 13,
    ],
)
def test_what_has_no_fixed_length_is_no_duration(text: str) -> None:
    """Protects windows: a month depends on where it starts, a fraction on how it is rounded."""
    with pytest.raises(ValueError):
        parse_duration(text)


def test_a_duration_is_no_longer_than_the_calendar() -> None:
    """Protects deadlines: no instant lies beyond the calendar because a window does."""
    with pytest.raises(ValueError, match="longer than the calendar"):
        parse_duration("9999999 weeks")


def test_a_duration_is_written_in_whole_seconds_only() -> None:
    """Protects readers: nothing is rounded where it is written."""
    assert [format_duration(Duration(n * SECOND)) for n in (0, 1, 90, 5400)] == [
        "0 seconds", "1 second", "90 seconds", "90 minutes",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="not a whole number of seconds"):
        format_duration(Duration(1))


def test_what_lies_between_two_instants_leads_from_one_to_the_other() -> None:
    """Protects arithmetic with dates: the way there and the way back are the same length."""
    first, last = parse_instant("2026-02-28T00:00:00Z"), parse_instant("2026-03-01T00:00:01Z")
    assert later(first, between(first, last)) == last
    assert between(last, first) == -between(first, last)
