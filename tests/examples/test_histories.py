"""The worked histories: what each public rule makes of each course, at the instants that decide, and to the cent."""

import json
import re
import shlex
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples.histories import compensation as due
from examples.histories import denied_boarding_eu as eu
from examples.histories import denied_boarding_us as us
from examples.histories import late_delivery
from examples.histories.catalogue import EXAMPLES, FOLDER, files
from examples.histories.story import Variant, later
from swarm.cli.app import app
from swarm.files.document import load
from swarm.history.tracking import TrackResult, track

ROOT = Path(__file__).resolve().parents[2]
CENT = Decimal("0.01")
MICROSECOND = timedelta(microseconds=1)

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)

VARIANTS: dict[str, Variant] = {
    f"{example.folder}/{name}": variant for example in EXAMPLES for name, variant in example.variants.items()
}


def seen(result: TrackResult, *names: str) -> dict[str, str]:
    """Return each commitment as ``state since [remedy …] [notes]``, those in *names* or all."""
    found = {}
    for name, status in result.plain()["commitments"].items():
        if not names or name in names:
            words = [status["state"], status["since"] or "always"]
            words += [] if status["remedy"] == "none" else [f"remedy {status['remedy']}"]
            found[name] = " ".join([*words, *status["notes"]])
    return found


def look(variant: str, as_of: str | None = None, *names: str) -> dict[str, str]:
    return seen(track(VARIANTS[variant].data, as_of=as_of), *names)


def refused(variant: str) -> list[tuple[int, str]]:
    return [(refusal.item, refusal.code) for refusal in track(VARIANTS[variant].data).refused]


# --- The files --------------------------------------------------------------------------------------------------------


def test_the_files_are_what_their_generators_make() -> None:
    """Protects the files from drifting: an amount in them is computed, and no file is left over."""
    made = files()
    assert {path for path in FOLDER.rglob("*.yaml")} == set(made), "run: python -m examples.histories"
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} differs; run: python -m examples.histories"


@pytest.mark.parametrize("name", VARIANTS)
def test_a_file_says_what_its_data_says(name: str) -> None:
    """Protects the writing of the files: read back, they are the data that the generator gives to `track`."""
    path = FOLDER / f"{name}.yaml"
    assert load(path).data == json.loads(json.dumps(VARIANTS[name].data))
    assert track(path).plain() == track(VARIANTS[name].data).plain()
    assert path.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.folder)
def test_an_example_names_its_rule_and_has_several_courses(example: Any) -> None:
    """Protects what makes them examples of something: a rule with article or section, and more than the good case."""
    assert re.search(r"Art\. \d|CFR \d|The clause “", example.rule)
    assert len(example.variants) >= 5
    assert any(not track(variant.data).clean for variant in example.variants.values())


def test_nothing_waits_in_a_circle() -> None:
    """Protects the examples as good style: no deadlock, no conflict, no circle among their promises."""
    assert {name: track(variant.data).findings for name, variant in VARIANTS.items()} == dict.fromkeys(VARIANTS, ())


# --- Denied boarding, Regulation (EC) No 261/2004 ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "intra", "minutes", "amount"),
    [
        (1, False, None, 250),
        (1_500, False, None, 250),
        (1_500, True, None, 250),
        (Decimal("1500.01"), False, None, 400),
        (1_501, False, None, 400),
        (1_501, True, None, 400),
        (3_500, False, None, 400),
        (Decimal("3500.01"), False, None, 600),
        (3_501, False, None, 600),
        (3_501, True, None, 400),
        (9_220, True, None, 400),
        (1_500, False, 120, 125),
        (1_500, False, 121, 250),
        (1_501, False, 180, 200),
        (1_501, False, 181, 400),
        (9_220, True, 180, 200),
        (9_220, True, 181, 400),
        (3_501, False, 240, 300),
        (3_501, False, 241, 600),
        (3_501, False, 0, 300),
    ],
)
def test_eu_amounts_at_the_edges_of_distance_and_rerouting(
    distance: int | Decimal, intra: bool, minutes: int | None, amount: int
) -> None:
    """Protects Art. 7(1) and (2): 1,500 and 3,500 km inclusive, the Community exception, two, three and four hours."""
    assert due.eu_compensation(distance, intra_community=intra, rerouted_minutes_late=minutes) == amount


@calm
@given(st.integers(1, 20_000), st.booleans(), st.integers(0, 600), st.integers(0, 600))
def test_eu_amounts_never_fall_with_distance_or_delay(distance: int, intra: bool, one: int, other: int) -> None:
    """Protects the bands: longer or later never pays less, the Community never more, no offer is the most."""
    least, most = sorted((one, other))
    paid = [
        due.eu_compensation(distance, intra_community=intra, rerouted_minutes_late=minutes)
        for minutes in (least, most, None)
    ]
    assert paid == sorted(paid)
    assert paid[-1] <= 600 and paid[0] >= 125
    assert paid[-1] <= due.eu_compensation(distance + one, intra_community=intra)
    assert due.eu_compensation(distance, intra_community=True) <= due.eu_compensation(distance)


EU = [
    ("boarded", None, {"seat": "satisfied 2025-07-14T09:50:00Z", "compensation": "conditional always never_expires"}),
    ("paid", "2025-07-14T09:40:00Z", {"seat": "violated 2025-07-14T09:40:00Z remedy due"}),
    ("paid", "2025-07-21T09:40:00Z", {"compensation": "detached 2025-07-14T09:40:00Z"}),
    ("paid", "2025-07-21T09:40:00.000001Z", {"compensation": "unconfirmed 2025-07-21T09:40:00Z"}),
    (
        "paid",
        None,
        {
            "seat": "violated 2025-07-14T09:40:00Z remedy remedied",
            "compensation": "satisfied 2025-07-21T09:40:00Z",
            "interest": "conditional always never_expires",
        },
    ),
    (
        "halved",
        None,
        {
            "seat": "violated 2025-07-14T09:40:00Z remedy remedied",
            "compensation": "satisfied 2025-07-16T09:40:00Z",
        },
    ),
    ("not-halved", "2025-07-21T09:40:00Z", {"compensation": "detached 2025-07-14T09:40:00Z"}),
    (
        "not-halved",
        "2025-07-21T09:40:00.000001Z",
        {
            "compensation": "violated 2025-07-21T09:40:00Z remedy due",
            "seat": "violated 2025-07-14T09:40:00Z remedy violated",
        },
    ),
    (
        "paid-late",
        "2025-07-22T00:00:00Z",
        {
            "seat": "violated 2025-07-14T09:40:00Z remedy violated",
            "compensation": "violated 2025-07-21T09:40:00Z remedy due late_performance",
            "interest": "detached 2025-07-21T09:40:00Z",
        },
    ),
    (
        "paid-late",
        None,
        {
            "compensation": "violated 2025-07-21T09:40:00Z remedy remedied late_performance",
            "interest": "satisfied 2025-08-20T09:40:00Z",
        },
    ),
    (
        "not-paid",
        "2025-08-20T09:40:00.000001Z",
        {
            "compensation": "violated 2025-07-21T09:40:00Z remedy violated",
            "interest": "violated 2025-08-20T09:40:00Z remedy due",
            "ruling": "conditional always",
        },
    ),
    (
        "not-paid",
        "2025-08-25T09:40:00Z",
        {"interest": "violated 2025-08-20T09:40:00Z remedy due", "ruling": "detached 2025-08-25T09:40:00Z"},
    ),
    (
        "not-paid",
        None,
        {
            "seat": "violated 2025-07-14T09:40:00Z remedy violated",
            "interest": "violated 2025-08-20T09:40:00Z remedy remedied",
            "ruling": "satisfied 2025-11-23T09:40:00Z",
        },
    ),
    ("disputed", "2025-07-21T09:40:00Z", {"compensation": "detached 2025-07-14T09:40:00Z"}),
    ("disputed", "2025-07-21T09:40:00.000001Z", {"compensation": "disputed 2025-07-21T09:40:00Z"}),
    (
        "disputed",
        None,
        {"compensation": "violated 2025-07-21T09:40:00Z remedy due", "interest": "detached 2025-07-21T09:40:00Z"},
    ),
    (
        "volunteer",
        None,
        {
            "seat": "terminated 2025-07-14T09:10:00Z",
            "compensation": "conditional always never_expires",
            "benefits": "satisfied 2025-07-15T10:00:00Z",
        },
    ),
    ("late-at-the-desk", "2025-07-14T09:15:00Z", {"seat": "conditional always"}),
    (
        "late-at-the-desk",
        None,
        {"seat": "expired 2025-07-14T09:15:00Z", "compensation": "conditional always never_expires"},
    ),
]


@pytest.mark.parametrize(("variant", "as_of", "expected"), EU)
def test_eu_courses(variant: str, as_of: str | None, expected: dict[str, str]) -> None:
    """Protects the remedy in time, late and unpaid, its chain to interest and ruling, dispute, and the volunteer."""
    assert look(f"eu261/{variant}", as_of, *expected) == expected


def test_an_airline_neither_confirms_its_payment_nor_releases_itself() -> None:
    """Protects the passenger: who reports a payment does not confirm it; only the passenger gives up the seat."""
    assert refused("eu261/disputed") == [(5, "not_allowed")]
    data = VARIANTS["eu261/volunteer"].data
    lines = [{**line, "by": "airline"} if line.get("do") == "release" else line for line in data["history"]]
    result = track({**data, "history": lines})
    assert [refusal.code for refusal in result.refused] == ["not_allowed"]
    assert result.commitments["seat"].state == "violated"


@pytest.mark.parametrize(("short", "state"), [(0, "satisfied"), (1, "violated")])
@pytest.mark.parametrize(("distance", "intra"), [(655, False), (1_870, True), (6_190, False), (9_220, True)])
@pytest.mark.parametrize("minutes", [None, 120, 121, 180, 181, 240, 241])
def test_eu_compensation_to_the_cent(distance: int, intra: bool, minutes: int | None, short: int, state: str) -> None:
    """Protects the agreement of promise and rule: what `eu_compensation` says satisfies, a cent less does not."""
    owed = due.eu_compensation(distance, intra_community=intra, rerouted_minutes_late=minutes) - short * CENT
    lines = [
        *eu.refused(),
        *([] if minutes is None else eu.rerouted(minutes)),
        *eu.paid(eu.PAYABLE, due.money(owed)),
    ]
    result = track(eu.history(distance, lines, intra_community=intra, until=later(eu.PAYABLE, days=1)))
    assert result.commitments["compensation"].state == state
    assert result.refused == ()


def test_interest_is_counted_by_day_and_rounded_once() -> None:
    """Protects § 288 BGB and Directive 2011/7/EU as computed: points above the half-year's rate, a year of 365 days."""
    assert due.consumer_rate(date(2025, 6, 30)) == Decimal("7.27")
    assert due.consumer_rate(date(2025, 7, 1)) == Decimal("6.27")
    assert due.commercial_rate(date(2025, 6, 30)) == Decimal("11.15")
    assert due.commercial_rate(date(2025, 7, 1)) == Decimal("10.15")
    assert due.interest(600, Decimal("6.27"), 30) == Decimal("3.09")
    assert due.interest(36_500, Decimal("10"), 1) == Decimal("10.00")
    assert due.interest(Decimal("0.73"), Decimal("2.5"), 100) == Decimal("0.01"), "half a cent counts"
    for unknown in (date(2024, 12, 31), date(2026, 1, 1)):
        with pytest.raises(ValueError, match="no rate is held"):
            due.consumer_rate(unknown)


# --- Denied boarding, 14 CFR 250.5 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "caps"),
    [
        ("2015-08-25", (675, 1_350)),
        ("2021-04-12", (675, 1_350)),
        ("2021-04-13", (775, 1_550)),
        ("2025-01-21", (775, 1_550)),
        ("2025-01-22", (1_075, 2_150)),
        ("2026-11-30", (1_075, 2_150)),
    ],
)
def test_us_caps_change_on_their_dates(on: str, caps: tuple[int, int]) -> None:
    """Protects the caps by date, the day before and the day itself; both caps are met exactly, and by a cent."""
    day = date.fromisoformat(on)
    double, quadruple = caps
    assert due.us_caps(day) == caps
    assert due.us_compensation(Decimal(double) / 2, 61, on=day) == double
    assert due.us_compensation(Decimal(double) / 2 - CENT, 61, on=day) == double - 2 * CENT
    assert due.us_compensation(Decimal(double) / 2 + CENT, 61, on=day) == double
    assert due.us_compensation(Decimal(quadruple) / 4, None, on=day) == quadruple
    assert due.us_compensation(Decimal(quadruple) / 4 - CENT, None, on=day) == quadruple - 4 * CENT
    assert due.us_compensation(Decimal(quadruple) / 4 + CENT, None, on=day) == quadruple


def test_us_caps_before_the_table_are_not_guessed() -> None:
    """Protects against a wrong amount for a date that nobody looked up."""
    with pytest.raises(ValueError, match="no caps are held for 2015-08-24"):
        due.us_caps(date(2015, 8, 24))


@pytest.mark.parametrize(
    ("minutes", "domestic", "international"),
    [(0, 0, 0), (60, 0, 0), (61, 2, 2), (119, 2, 2), (120, 4, 2), (239, 4, 2), (240, 4, 4), (None, 4, 4)],
)
def test_us_amounts_at_the_edges_of_delay(minutes: int | None, domestic: int, international: int) -> None:
    """Protects 250.5(a) and (b): not later than an hour; less than two hours, or four."""
    fare, on = Decimal("123.45"), date(2025, 6, 1)
    assert due.us_compensation(fare, minutes, on=on) == domestic * fare
    assert due.us_compensation(fare, minutes, on=on, international=True) == international * fare


cents = st.integers(0, 200_000).map(lambda amount: amount * CENT)
days = st.dates(date(2015, 8, 25), date(2026, 11, 30))


@calm
@given(cents, cents, st.integers(0, 600), st.integers(0, 600), days, st.booleans())
def test_us_amounts_never_fall_with_fare_or_delay(
    fare: Decimal, more: Decimal, minutes: int, longer: int, on: date, abroad: bool
) -> None:
    """Protects the formula: monotone in fare and delay, never above the cap nor above 400 %, abroad never more."""
    paid = due.us_compensation(fare, minutes, on=on, international=abroad)
    assert paid <= due.us_compensation(fare + more, minutes, on=on, international=abroad)
    assert paid <= due.us_compensation(fare, minutes + longer, on=on, international=abroad)
    assert paid <= due.us_compensation(fare, None, on=on, international=abroad) <= min(4 * fare, due.us_caps(on)[1])
    assert paid >= due.us_compensation(fare, minutes, on=on, international=True)
    assert paid <= due.us_compensation(fare, minutes, on=max(on, date(2025, 1, 22)), international=abroad)


@calm
@given(
    st.integers(1, 200_000).map(lambda amount: amount * CENT),
    st.sampled_from([None, 0, 60, 61, 119, 120, 239, 240]),
    st.sampled_from(["2021-04-12", "2021-04-13", "2025-01-21", "2025-01-22"]),
    st.booleans(),
)
def test_us_amends_to_the_cent(fare: Decimal, minutes: int | None, on: str, abroad: bool) -> None:
    """Protects the agreement of promise and rule: what `us_compensation` says satisfies, a cent less does not."""
    departure = f"{on}T20:00:00-05:00"
    owed = due.us_compensation(fare, minutes, on=date.fromisoformat(on), international=abroad)

    def state(paid: Decimal) -> str:
        until = later(departure, days=2)
        data = us.history(fare, departure, minutes_late=minutes, paid=paid, international=abroad, until=until)
        return track(data).commitments["amends"].state

    assert state(owed) == "satisfied"
    if owed:
        assert state(owed - CENT) == "violated"


US = [
    ("capped", None, "satisfied 2025-01-22T17:45:00Z", "2150.00"),
    ("the-eve", None, "satisfied 2025-01-22T05:15:00Z", "1550.00"),
    ("double", None, "satisfied 2025-01-22T17:45:00Z", "699.80"),
    ("within-the-hour", None, "satisfied 2025-01-22T16:55:00Z", None),
    ("international", None, "satisfied 2025-01-22T17:45:00Z", "960.00"),
    ("two-hours", "2025-01-23T16:45:00Z", "detached 2025-01-22T16:45:00Z", "400.00"),
    ("two-hours", "2025-01-23T16:45:00.000001Z", "violated 2025-01-23T16:45:00Z", "400.00"),
    ("a-cent-short", None, "violated 2025-01-23T16:45:00Z", "2149.99"),
]


@pytest.mark.parametrize(("variant", "as_of", "amends", "paid"), US)
def test_us_courses(variant: str, as_of: str | None, amends: str, paid: str | None) -> None:
    """Protects the three ways to make amends, the local date of the cap, and the 24 hours of 250.8."""
    name = f"us250/{variant}"
    assert look(name, as_of, "amends") == {"amends": amends}
    remedy = {"satisfied": "remedied", "detached": "due", "violated": "violated"}[amends.split(maxsplit=1)[0]]
    assert look(name, as_of, "seat")["seat"].endswith(f"remedy {remedy}")
    amounts = [line.get("amount") for line in VARIANTS[name].data["history"] if line.get("event") == "paid"]
    assert amounts == ([] if paid is None else [paid])


@pytest.mark.parametrize(("after", "state"), [(0, "satisfied"), (1, "violated")])
def test_us_amends_at_the_end_of_24_hours(after: int, state: str) -> None:
    """Protects 250.8(b) to the microsecond: paid at the end of the day is in time, and then it is late but noted."""
    in_time = 24 * 60 * 60 * 1_000_000
    data = us.history(Decimal(100), us.NOON, minutes_late=None, paid=Decimal(400), paid_after=in_time + after)
    status = track(data).commitments["amends"]
    assert (status.state, "late_performance" in status.notes) == (state, state == "violated")


# --- A sale of goods --------------------------------------------------------------------------------------------------

SALE = [
    (
        "kept",
        None,
        {
            "lot1": "satisfied 2025-08-28T10:00:00Z",
            "price1": "satisfied 2025-09-28T10:00:00Z",
            "latefee": "conditional always never_expires",
            "lot2": "satisfied 2025-11-30T00:00:00Z",
            "price2": "satisfied 2025-12-20T00:00:00Z",
        },
    ),
    ("suspended", "2025-09-28T10:00:00Z", {"price1": "detached 2025-08-28T10:00:00Z", "lot2": "conditional always"}),
    (
        "suspended",
        "2025-09-28T10:00:00.000001Z",
        {"price1": "violated 2025-09-28T10:00:00Z remedy due", "latefee": "detached 2025-09-28T10:00:00Z"},
    ),
    ("suspended", "2025-09-29T10:00:00Z", {"lot2": "pending 2025-09-29T10:00:00Z"}),
    # paid on 6 October, but a suspended promise moves only when it is resumed
    ("suspended", "2025-10-09T09:59:59.999999Z", {"lot2": "pending 2025-09-29T10:00:00Z"}),
    ("suspended", "2025-10-09T10:00:00Z", {"lot2": "detached 2025-10-09T10:00:00Z"}),
    ("suspended", "2025-11-30T00:00:00.000001Z", {"lot2": "detached 2025-10-09T10:00:00Z"}),
    (
        "suspended",
        None,
        {
            "price1": "violated 2025-09-28T10:00:00Z remedy remedied late_performance",
            "latefee": "satisfied 2025-10-06T10:00:00Z",
            "lot2": "satisfied 2025-12-10T00:00:00Z",
            "price2": "detached 2025-12-10T00:00:00Z",
        },
    ),
    (
        "suspended-and-late",
        None,
        {
            "lot2": "violated 2025-12-10T00:00:00Z late_performance",
            "price2": "detached 2025-12-10T00:00:00.000001Z",
        },
    ),
    ("called-off", "2025-10-28T10:00:00Z", {"latefee": "detached 2025-09-28T10:00:00Z"}),
    (
        "called-off",
        None,
        {
            "price1": "violated 2025-09-28T10:00:00Z remedy violated",
            "latefee": "violated 2025-10-28T10:00:00Z",
            "lot2": "terminated 2025-10-28T11:00:00Z",
            "price2": "terminated 2025-10-28T11:00:00Z",
        },
    ),
    ("unconfirmed", None, {"price1": "unconfirmed 2025-09-28T10:00:00Z", "lot2": "conditional always"}),
    ("anticipated", None, {"price1": "detached 2025-08-28T10:00:00Z", "lot2": "terminated 2025-09-22T10:00:00Z"}),
]


@pytest.mark.parametrize(("variant", "as_of", "expected"), SALE)
def test_sale_courses(variant: str, as_of: str | None, expected: dict[str, str]) -> None:
    """Protects the seller's suspension and what it moves, the fee as remedy, and calling off without breach."""
    assert look(f"sale/{variant}", as_of, *expected) == expected


def test_who_may_suspend_and_call_off() -> None:
    """Protects each side: the buyer neither suspends nor calls off the seller's promise; the seller keeps no money."""
    assert refused("sale/suspended") == [(3, "not_allowed")]
    assert refused("sale/called-off") == [(4, "not_allowed")]
    assert refused("sale/unconfirmed") == [(4, "wrong_state")]
    assert refused("sale/kept") == refused("sale/anticipated") == []


def test_a_payment_confirmed_after_all_counts_from_its_report() -> None:
    """Protects the buyer whose payment the seller was slow to confirm: no fee, and the second lot is owed."""
    data = VARIANTS["sale/unconfirmed"].data
    confirmed = {"at": "2025-10-20T00:00:00Z", "do": "confirm", "report": "p1", "by": "seller"}
    found = seen(track({**data, "history": [*data["history"], confirmed]}))
    assert found["price1"] == "satisfied 2025-09-28T10:00:00Z"
    assert found["lot2"] == "detached 2025-09-28T10:00:00Z"
    assert found["latefee"] == "conditional always never_expires"


@pytest.mark.parametrize(
    ("after_days", "fee_days", "state"),
    [(10, 10, "satisfied"), (11, 10, "detached"), (11, 20, "satisfied"), (30, 30, "satisfied"), (30, 20, "violated")],
)
def test_the_late_fee_steps_up(after_days: int, fee_days: int, state: str) -> None:
    """Protects the steps of the fee: each is enough up to its last instant, and not afterwards."""
    data = VARIANTS["sale/suspended"].data
    fee = due.money(due.late_fee(50_000, fee_days, due=date(2025, 9, 28)))
    at = later("2025-09-28T10:00:00Z", days=after_days)
    paid = {"at": at, "event": "paid", "by": "buyer"}
    lines = [
        *data["history"][:2],
        {**paid, "id": "p1", "for": "lot1", "amount": "50000.00"},
        {**paid, "id": "p2", "for": "fee", "amount": fee},
        {"at": at, "do": "confirm", "report": "p1", "by": "seller"},
        {"at": at, "do": "confirm", "report": "p2", "by": "seller"},
    ]
    until = later(at, microseconds=1)
    assert track({**data, "history": lines}, as_of=until).commitments["latefee"].state == state


@calm
@given(st.integers(0, 10_000_000), st.integers(0, 365), st.integers(0, 365))
def test_late_fees_never_fall_with_time(price: int, some: int, more: int) -> None:
    """Protects the fee: nothing in time, at least the fixed sum of Art. 6(1) when late, monotone in days and price."""
    fee = due.late_fee(price, some, due=date(2025, 9, 28))
    assert fee == 0 if some == 0 else fee >= 40
    assert fee <= due.late_fee(price, some + more, due=date(2025, 9, 28))
    assert fee <= due.late_fee(price + more, some, due=date(2025, 9, 28))


# --- A subcontracted delivery -----------------------------------------------------------------------------------------

SUBCONTRACT = [
    ("kept", "2025-03-05T08:59:59.999999Z", {"arrange": "detached 2025-03-03T09:00:00Z", "carriage": "none always"}),
    ("kept", "2025-03-05T09:00:00Z", {"arrange": "satisfied 2025-03-05T09:00:00Z"}),
    ("kept", None, {"carriage": "satisfied 2025-03-14T17:00:00Z", "delay": "conditional always"}),
    ("late", "2025-03-14T17:00:00Z", {"carriage": "detached 2025-03-05T09:00:00Z"}),
    ("late", "2025-03-14T17:00:00.000001Z", {"carriage": "violated 2025-03-14T17:00:00Z remedy due"}),
    ("late", "2025-04-10T16:59:59.999999Z", {"delay": "conditional always", "loss": "expired 2025-03-20T17:00:00Z"}),
    ("late", "2025-04-10T17:00:00Z", {"delay": "detached 2025-04-10T17:00:00Z"}),
    (
        "late",
        None,
        {
            "carriage": "violated 2025-03-14T17:00:00Z remedy remedied late_performance",
            "delay": "satisfied 2025-05-10T17:00:00Z",
        },
    ),
    (
        "reserved-too-late",
        None,
        {"carriage": "violated 2025-03-14T17:00:00Z late_performance", "delay": "expired 2025-04-10T17:00:00Z"},
    ),
    ("lost", "2025-04-13T17:00:00Z", {"loss": "conditional always", "delay": "conditional always"}),
    (
        "lost",
        "2025-04-13T17:00:00.000001Z",
        {"loss": "detached 2025-04-13T17:00:00Z", "delay": "expired 2025-04-13T17:00:00Z"},
    ),
    (
        "lost",
        None,
        {"carriage": "violated 2025-03-14T17:00:00Z remedy remedied", "loss": "satisfied 2025-05-13T17:00:00Z"},
    ),
    ("not-arranged", "2025-03-06T11:00:00Z", {"arrange": "detached 2025-03-03T09:00:00Z", "carriage": "none always"}),
    (
        "not-arranged",
        None,
        {
            "arrange": "violated 2025-03-06T11:00:00Z late_performance",
            "carriage": "detached 2025-03-06T11:00:00.000001Z",
        },
    ),
]


@pytest.mark.parametrize(("variant", "as_of", "expected"), SUBCONTRACT)
def test_subcontract_courses(variant: str, as_of: str | None, expected: dict[str, str]) -> None:
    """Protects the promise of a promise, the 30 days of CMR Art. 20, the 21 of Art. 30(3), and what follows each."""
    assert look(f"subcontract/{variant}", as_of, *expected) == expected


@pytest.mark.parametrize(
    ("variant", "debtor", "answerable"),
    [
        ("kept", "subhaulier", ("haulier",)),
        ("late", "subhaulier", ("haulier",)),
        ("lost", "subhaulier", ("haulier",)),
        ("not-accepted", "haulier", ()),
        ("not-arranged", "haulier", ()),
    ],
)
def test_who_owes_and_who_stays_answerable(variant: str, debtor: str, answerable: tuple[str, ...]) -> None:
    """Protects the customer: a debt handed on has a new debtor only once accepted, and the first stays answerable."""
    status = track(VARIANTS[f"subcontract/{variant}"].data).commitments["carriage"]
    assert (status.debtor, status.answerable) == (debtor, answerable)


def test_refusals_of_the_subcontract() -> None:
    """Protects debtors: nobody accepts what another was offered, promises for another, or cancels what it handed on."""
    assert refused("subcontract/late") == [(6, "not_allowed")]
    assert refused("subcontract/not-accepted") == [(5, "not_allowed")]
    assert refused("subcontract/not-arranged") == [(3, "not_allowed")]
    assert refused("subcontract/kept") == refused("subcontract/lost") == []


def test_what_carriage_owes_is_capped() -> None:
    """Protects CMR Art. 23: delay up to the charges; loss up to 8.33 units a kilogram, and the charges on top."""
    assert due.carriage_delay(Decimal("899.99"), 900) == Decimal("899.99")
    assert due.carriage_delay(900, 900) == due.carriage_delay(5_000, 900) == 900
    assert due.carriage_loss(5_000, 1_000, 900, sdr=Decimal(1)) == 5_900
    assert due.carriage_loss(8_330, 1_000, 900, sdr=Decimal(1)) == 9_230
    assert due.carriage_loss(9_000, 1_000, 900, sdr=Decimal(1)) == 9_230
    assert due.carriage_loss(24_000, 1_200, 900, sdr=Decimal("1.17")) == Decimal("12595.32")


# --- A penalty for late delivery --------------------------------------------------------------------------------------

DAY = 24 * 60 * 60 * 1_000_000


@pytest.mark.parametrize(
    ("late", "owed"),
    [
        (0, "0.00"),
        (1, "945.00"),
        (DAY, "945.00"),
        (DAY + 1, "1890.00"),
        (10 * DAY, "9450.00"),
        (10 * DAY + 1, "9900.00"),
        (11 * DAY, "9900.00"),
        (400 * DAY, "9900.00"),
    ],
)
def test_the_penalty_by_delay(late: int, owed: str) -> None:
    """Protects the clause: a day begun counts, 5.25 % each, and 55 % of 18,000 is the most. Paid exactly, all is kept;
    a cent less breaks the last remedy only."""
    days = due.days_begun(late)
    amount = due.penalty(18_000, days)
    assert due.money(amount) == owed
    result = track(late_delivery.delivered_after(late, *([amount] if amount else [])))
    states = [result.commitments[f"penalty{day}"].state for day in range(1, 12)]
    reached = min(days, 11)
    beyond = "conditional" if late == 0 else "expired"
    assert states == ["satisfied"] * reached + [beyond] * (11 - reached)
    assert result.commitments["delivery"].remedy == ("remedied" if late else "none")
    if amount:
        short = track(late_delivery.delivered_after(late, amount - CENT))
        states = [short.commitments[f"penalty{day}"].state for day in range(1, 12)]
        assert states == ["satisfied"] * (reached - 1) + ["violated"] + ["expired"] * (11 - reached)
        assert not short.clean


PENALTY = [
    ("in-time", None, {"delivery": "satisfied 2025-05-05T12:00:00Z", "penalty1": "conditional always never_expires"}),
    ("a-day", "2025-05-05T12:00:00Z", {"delivery": "detached always"}),
    (
        "a-day",
        "2025-05-05T12:00:00.000001Z",
        {"delivery": "violated 2025-05-05T12:00:00Z remedy due", "penalty1": "detached 2025-05-05T12:00:00Z"},
    ),
    ("a-day", None, {"penalty1": "satisfied 2025-06-19T12:00:00Z", "penalty2": "expired 2025-05-06T12:00:00Z"}),
    ("at-the-cap", "2025-05-15T12:00:00Z", {"penalty11": "conditional always"}),
    (
        "at-the-cap",
        "2025-05-15T12:00:00.000001Z",
        {"penalty11": "detached 2025-05-15T12:00:00Z", "refund": "conditional always"},
    ),
    (
        "at-the-cap",
        None,
        {"penalty11": "satisfied 2025-06-19T12:00:00Z", "refund": "expired 2025-05-15T12:00:00.000001Z"},
    ),
    # the seller says that it delivered within the day, and nobody has answered yet
    ("a-day", "2025-05-06T12:00:00Z", {"penalty2": "conditional always"}),
    ("a-day", "2025-05-06T12:00:00.000001Z", {"penalty2": "unconfirmed 2025-05-06T12:00:00Z"}),
    (
        "a-cent-short",
        None,
        {
            "delivery": "violated 2025-05-05T12:00:00Z remedy violated",
            "penalty10": "satisfied 2025-06-19T12:00:00Z",
            "penalty11": "violated 2025-06-19T12:00:00Z",
            "refund": "expired 2025-06-19T12:00:00Z",
        },
    ),
    ("rescinded", "2025-05-20T12:00:00Z", {"refund": "conditional always"}),
    ("rescinded", "2025-05-20T12:00:00.000001Z", {"refund": "detached 2025-05-20T12:00:00.000001Z"}),
    (
        "rescinded",
        None,
        {
            "delivery": "violated 2025-05-05T12:00:00Z remedy remedied",
            "penalty11": "satisfied 2025-06-14T12:00:00Z",
            "refund": "satisfied 2025-06-14T12:00:00Z",
        },
    ),
    ("force-majeure", "2025-05-12T11:59:59.999999Z", {"delivery": "pending 2025-05-04T12:00:00Z"}),
    ("force-majeure", None, {"delivery": "satisfied 2025-05-13T12:00:00Z"}),
    (
        "each-day",
        None,
        {
            "delivery": "violated 2025-05-05T12:00:00Z remedy remedied",
            "penalty[11]": "satisfied 2025-06-05T12:00:00Z",
            "penalty[12]": "expired 2025-06-19T12:00:00Z",
        },
    ),
]


@pytest.mark.parametrize(("variant", "as_of", "expected"), PENALTY)
def test_penalty_courses(variant: str, as_of: str | None, expected: dict[str, str]) -> None:
    """Protects the chain day by day, the buyer's right after more than 15 days, suspension, and one penalty a day."""
    assert look(f"late-delivery/{variant}", as_of, *expected) == expected


def test_delivered_on_the_fifteenth_day_there_is_no_refund() -> None:
    """Protects "more than 15 days": delivered at the last instant of the fifteenth, the buyer cannot rescind."""
    for late, state in ((15 * DAY, "expired"), (15 * DAY + 1, "detached")):
        data = late_delivery.delivered_after(late)
        rescinded = {"at": "2025-05-21T00:00:00Z", "event": "rescinded", "by": "buyer", "id": "t1"}
        result = track({**data, "history": [*data["history"], rescinded]}, as_of="2025-05-21T00:00:00Z")
        assert result.commitments["refund"].state == state


def test_each_days_penalty_reaches_the_cap_exactly() -> None:
    """Protects the other way to write the cap: eleven equal penalties are 55 % of the price, a twelfth is not owed."""
    result = track(VARIANTS["late-delivery/each-day"].data)
    kept = [name for name, status in result.commitments.items() if status.state == "satisfied"]
    one = due.penalty(18_000, 1, percent=Decimal(5), per_days=1)
    assert kept == [f"penalty[{day}]" for day in range(1, 12)]
    assert one * len(kept) == Decimal("0.55") * 18_000 == due.penalty(18_000, 12, percent=Decimal(5), per_days=1)


def test_only_the_buyer_grants_force_majeure() -> None:
    """Protects the buyer: a seller cannot stop its own clock."""
    assert refused("late-delivery/force-majeure") == [(1, "not_allowed")]


percents = st.integers(1, 10_000).map(lambda number: number * CENT)


@calm
@given(cents, st.integers(0, 100), percents, st.integers(1, 9), percents)
def test_penalties_rise_to_the_cap_and_no_further(
    price: Decimal, days: int, percent: Decimal, per_days: int, cap: Decimal
) -> None:
    """Protects the formula for any figures: monotone by day, at the cap from `days_to_cap` on, below it before."""
    terms: dict[str, Any] = {"percent": percent, "per_days": per_days, "cap_percent": cap}
    most = due.round_to_cent(price * cap / 100)
    first = due.days_to_cap(**terms)
    amounts = [due.penalty(price, day, **terms) for day in (days, days + 1, first, first + days)]
    assert amounts[0] <= amounts[1] <= most
    assert amounts[2] == amounts[3] == most
    exact = [price * percent * day / (100 * per_days) for day in (first - 1, first)]
    assert price == 0 or exact[0] < price * cap / 100 <= exact[1]


def test_steps_of_the_chain_are_the_penalty() -> None:
    """Protects the eleven remedies: their amounts are what the clause gives for one to eleven days, never the same."""
    amounts = [
        Decimal(re.search(r">= ([0-9.]+) within", terms["then"])[1])
        for terms in late_delivery.chain()
        if terms["id"].startswith("penalty")
    ]
    assert amounts == [due.penalty(18_000, day) for day in range(1, 12)]
    assert all(one < next_one for one, next_one in pairwise(amounts))
    assert amounts[-1] == 9_900


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: due.eu_compensation(0),
        lambda: due.eu_compensation(100, rerouted_minutes_late=-1),
        lambda: due.us_compensation(-1, 0, on=date(2025, 6, 1)),
        lambda: due.us_compensation(1, -1, on=date(2025, 6, 1)),
        lambda: due.late_fee(1, -1, due=date(2025, 9, 1)),
        lambda: due.penalty(1, -1),
        lambda: due.days_begun(-1),
        lambda: due.money(Decimal("0.001")),
    ],
)
def test_impossible_figures_are_refused(wrong: Any) -> None:
    """Protects against an amount for a case that cannot be: negative money, time or distance, fractions of a cent."""
    with pytest.raises(ValueError, match=r"negative|distance|fraction"):
        wrong()


# --- The page ---------------------------------------------------------------------------------------------------------

PAGE = ROOT / "docs" / "examples.md"
SHOWN = re.findall(r"```console\n\$ (swarm track [^\n]+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_shows_every_example() -> None:
    """Protects the page: each example is run there, and a file that it names exists."""
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"([\w-]+/[\w-]+)\.yaml", text))
    shown = {command.split()[2].removeprefix("examples/histories/").split("/")[0] for command, _ in SHOWN}
    assert shown == {example.folder for example in EXAMPLES}
    assert {name for name in named if not name.startswith("histories/")} <= set(VARIANTS)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command.split()[2] for command, _ in SHOWN])
def test_what_the_page_shows_is_what_comes_out(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the reader: the command runs as written, and every state, time, remedy and note shown is today's."""
    monkeypatch.chdir(ROOT)
    arguments = shlex.split(command)[1:]
    assert app(arguments, standalone_mode=False) == 0
    printed = capsys.readouterr().out
    result = track(ROOT / arguments[1], as_of=arguments[3] if "--as-of" in arguments else None)
    for shown in (output, printed):
        lines = {words[0]: words for line in shown.splitlines() if (words := line.split())}
        for commitment, text in seen(result).items():
            expected = [word for word in text.split() if word != "always"]
            assert set(expected) <= set(lines[commitment]), "run: python -m examples.histories --page"
        assert all(f"item {refusal.item}: {refusal.code}" in shown for refusal in result.refused)
