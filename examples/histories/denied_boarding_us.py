"""Denied boarding in the United States, 14 CFR part 250: one promise of amends that is kept in any of three ways."""

from datetime import date
from decimal import Decimal

from examples.histories.compensation import Amount, money, us_compensation, us_limits
from examples.histories.story import Example, Plain, Variant, answer, later, operation, report

RULE = (
    "14 CFR 250.5: refused involuntarily, a passenger is owed nothing if the substitute is planned to arrive not "
    "later than one hour after the flight booked; 200 % of the one-way fare if less than two hours (from the US "
    "abroad: four); else 400 %. Each is capped, by the local date: 675 and 1,350 USD, since 2021-04-13 775 and 1,550, "
    "since 2025-01-22 1,075 and 2,150. 250.6(a): not to who checks in late (here, 30 minutes before departure). "
    "250.8: paid on the day and at the place, at the latest within 24 hours."
)
EVENTS = {
    "checked_in": {"by": "passenger", "confirmed_by": "carrier"},
    "boarded": {"by": "carrier", "confirmed_by": "passenger"},
    "rebooked": {"by": "carrier", "confirmed_by": "passenger"},
    "paid": {"by": "carrier", "confirmed_by": "passenger"},
}


def commitments(fare: Amount, departure: str, *, international: bool = False) -> list[Plain]:
    """Return what a carrier owes to who has paid *fare* for a flight at *departure* (local time, with its offset)."""
    on = date.fromisoformat(departure[:10])
    nothing_up_to, quadruple_from = us_limits(international=international)
    double = money(us_compensation(fare, quadruple_from - 1, on=on, international=international))
    quadruple = money(us_compensation(fare, None, on=on, international=international))
    carrier = {"debtor": "carrier", "creditor": "passenger"}
    in_time = "within 24 hours of violated(seat)"
    return [
        {
            "id": "seat",
            **carrier,
            "if": f"checked_in by {later(departure, minutes=-30)}",
            "then": f"boarded by {later(departure)}",
        },
        {
            "id": "amends",
            **carrier,
            "if": "violated(seat)",
            "then": f"rebooked(minutes_late <= {nothing_up_to}) {in_time}"
            f" or (rebooked(minutes_late < {quadruple_from}) and paid(amount >= {double})) {in_time}"
            f" or paid(amount >= {quadruple}) {in_time}",
        },
    ]


def refused_at(departure: str) -> str:
    """Return when the carrier says that it will not board the passenger."""
    return later(departure, minutes=-15)


def history(
    fare: Amount,
    departure: str,
    *,
    minutes_late: int | None,
    paid: Amount,
    paid_after: int = 60 * 60 * 1_000_000,
    international: bool = False,
    until: str | None = None,
) -> Plain:
    """Return the history of a passenger refused, offered a substitute *minutes_late*, and *paid* (0: nothing).

    *paid_after* are the microseconds from the refusal to the payment.
    """
    refused = refused_at(departure)
    lines = [
        report(later(departure, hours=-1), "checked_in", "passenger", "c1"),
        answer(later(departure, minutes=-59), "confirm", "c1", "carrier"),
        operation(refused, "cancel", "seat", "carrier", because="The flight is oversold and nobody volunteered."),
    ]
    if minutes_late is not None:
        at = later(refused, minutes=10)
        lines.append(report(at, "rebooked", "carrier", "r1", minutes_late=str(minutes_late)))
        lines.append(answer(later(at, minutes=1), "confirm", "r1", "passenger"))
    if paid:
        at = later(refused, microseconds=paid_after)
        lines.append(report(at, "paid", "carrier", "p1", amount=money(paid)))
        lines.append(answer(later(at, minutes=1), "confirm", "p1", "passenger"))
    data: Plain = {
        "parties": ["carrier", "passenger"],
        "events": EVENTS,
        "commitments": commitments(fare, departure, international=international),
        "history": lines,
    }
    return data if until is None else {**data, "as_of": until}


def _kept(fare: Amount, departure: str, minutes_late: int | None, *, international: bool = False) -> Plain:
    on = date.fromisoformat(departure[:10])
    paid = us_compensation(fare, minutes_late, on=on, international=international)
    return history(fare, departure, minutes_late=minutes_late, paid=paid, international=international)


NOON = "2025-01-22T12:00:00-05:00"
EVE = "2025-01-21T23:30:00-05:00"
"""The 22nd in UTC already, the 21st where the boarding is denied."""
_CENT = Decimal("0.01")

EXAMPLE = Example(
    "us250",
    "Denied boarding in the US",
    RULE,
    {
        "capped": Variant(
            "three hours late on a fare of 600 USD, the day the caps rose: 400 % is 2,400, the cap 2,150.",
            _kept(Decimal(600), NOON, 180),
        ),
        "the-eve": Variant(
            "the same half an hour before midnight, local time, the day before: the cap is 1,550.",
            _kept(Decimal(600), EVE, 180),
        ),
        "double": Variant(
            "an hour and a half late on a fare of 349.90 USD: 200 %, below the cap.",
            _kept(Decimal("349.90"), NOON, 90),
        ),
        "within-the-hour": Variant(
            "a substitute planned to arrive exactly an hour late: nothing is owed, and the amends are made.",
            _kept(Decimal(600), NOON, 60),
        ),
        "two-hours": Variant(
            "exactly two hours late, and only 200 % paid: 400 % were owed.",
            history(
                Decimal(200),
                NOON,
                minutes_late=120,
                paid=us_compensation(Decimal(200), 119, on=date(2025, 1, 22)),
                until=later(NOON, days=2),
            ),
        ),
        "international": Variant(
            "a minute less than four hours late on a flight abroad: still 200 %.",
            _kept(Decimal(480), NOON, 239, international=True),
        ),
        "a-cent-short": Variant(
            "the cap less a cent, for a passenger who was offered no other flight.",
            history(
                Decimal(900),
                NOON,
                minutes_late=None,
                paid=us_compensation(Decimal(900), None, on=date(2025, 1, 22)) - _CENT,
                until=later(NOON, days=2),
            ),
        ),
    },
)
