"""Instants and durations as whole microseconds: parsed strictly, compared as integers, never as text.

An ``Instant`` counts microseconds since 1970-01-01T00:00:00Z; a ``Duration`` counts microseconds. Both are ``int`` at
run time; a type checker keeps them apart. The accepted text is a strict subset of RFC 3339 (no leap second, at most six
fraction digits, an offset always) and of ISO 8601 durations (no months, no years: their length depends on where they
start).
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NewType

Instant = NewType("Instant", int)
"""Microseconds since 1970-01-01T00:00:00Z."""
Duration = NewType("Duration", int)
"""Microseconds."""

SECOND = Duration(1_000_000)
MINUTE = Duration(60 * SECOND)
HOUR = Duration(60 * MINUTE)
DAY = Duration(24 * HOUR)
WEEK = Duration(7 * DAY)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
FIRST = Instant((datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND)
LAST = Instant((datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND)

_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?(Z|[+-][0-9]{2}:[0-9]{2})",
)
_WORDS = re.compile(r"([0-9]{1,12}) (second|minute|hour|day|week)s?")
_ISO = re.compile(
    r"P(?:([0-9]{1,12})W|(?:([0-9]{1,12})D)?(?:T(?:([0-9]{1,12})H)?(?:([0-9]{1,12})M)?(?:([0-9]{1,12})S)?)?)",
)
_UNITS = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY, "week": WEEK}

INSTANT_FORM = "a time such as 2026-01-31T17:00:00Z or 2026-01-31T17:00:00+01:00"
DURATION_FORM = "a duration such as 30 seconds, 90 minutes, 36 hours, 5 days, 2 weeks or P5D"


def later(instant: Instant, by: Duration) -> Instant:
    """Return the instant that lies *by* after *instant*."""
    return Instant(instant + by)


def between(first: Instant, last: Instant) -> Duration:
    """Return how long it is from *first* to *last*."""
    return Duration(last - first)


def seconds_long(count: int) -> Duration:
    """Return the duration of *count* seconds."""
    return Duration(count * SECOND)


def parse_instant(text: str) -> Instant:
    """Read an instant; raise ``ValueError`` saying what is wrong with *text*."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {INSTANT_FORM}")
    date, hour, minute, second, fraction, offset = match.groups()
    if second == "60":
        raise ValueError(f"{text!r} is a leap second; say the second before or after it")
    hours, minutes, seconds = int(hour), int(minute), int(second)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(f"{text!r} is no time of day: 00:00:00 to 23:59:59")
    try:
        instant = _midnight(date) + hours * HOUR + minutes * MINUTE + seconds * SECOND
    except ValueError as error:
        raise ValueError(f"{text!r} is no date: {error}") from None
    if fraction is not None:
        instant += int(fraction.ljust(6, "0"))
    if offset != "Z":
        hours, minutes = int(offset[1:3]), int(offset[4:6])
        if hours > 23 or minutes > 59:
            raise ValueError(f"{text!r} has no possible offset; {INSTANT_FORM}")
        shift = hours * HOUR + minutes * MINUTE
        instant += -shift if offset[0] == "+" else shift
    if not FIRST <= instant <= LAST:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999")
    return Instant(instant)


@lru_cache(maxsize=4096)
def _midnight(date: str) -> int:
    """Return the instant at which *date* begins in UTC; cached, because many instants share few days."""
    day = datetime(int(date[:4]), int(date[5:7]), int(date[8:]), tzinfo=UTC)
    return (day - _EPOCH) // _MICROSECOND


def format_instant(instant: Instant) -> str:
    """Write an instant as entries carry it: UTC, ``Z``, exactly six fraction digits."""
    day, rest = divmod(instant, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds, fraction = divmod(rest, SECOND)
    return f"{_date(day)}T{hours:02d}:{minutes:02d}:{seconds:02d}.{fraction:06d}Z"


@lru_cache(maxsize=4096)
def _date(day: int) -> str:
    """Return the date of a day counted from 1970-01-01."""
    return (_EPOCH + timedelta(days=day)).date().isoformat()


def show_instant(instant: Instant) -> str:
    """Write an instant for people and results: as `format_instant`, but without a zero fraction."""
    text = format_instant(instant)
    return text.replace(".000000Z", "Z")


def parse_wire_instant(text: str) -> Instant:
    """Read an instant in the only form that entries carry (see `format_instant`); anything else is a ``ValueError``."""
    if len(text) != 27 or text[19] != "." or text[26] != "Z":
        raise ValueError(f"{text!r} is not UTC with Z and exactly six fraction digits")
    return parse_instant(text)


def parse_duration(text: str) -> Duration:
    """Read a duration; raise ``ValueError`` saying what is wrong with *text*."""
    words = _WORDS.fullmatch(text)
    if words is not None:
        return _bounded(int(words[1]) * _UNITS[words[2]], text)
    iso = _ISO.fullmatch(text)
    if iso is None or not any(iso.groups()) or text.endswith("T"):
        raise ValueError(f"{text!r} is not {DURATION_FORM} (months and years have no fixed length)")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in iso.groups())
    return _bounded(weeks * WEEK + days * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND, text)


def _bounded(duration: int, text: str) -> Duration:
    if duration > LAST - FIRST:
        raise ValueError(f"{text!r} is longer than the calendar")
    return Duration(duration)


def format_duration(duration: Duration) -> str:
    """Write a duration of whole seconds in its largest whole unit: ``5 days``, ``90 minutes``, ``1 week``."""
    for name in ("week", "day", "hour", "minute", "second"):
        unit = _UNITS[name]
        if duration % unit == 0:
            count = duration // unit
            if count or name == "second":
                return f"{count} {name}" if count == 1 else f"{count} {name}s"
    raise ValueError(f"{duration} µs is not a whole number of seconds")
