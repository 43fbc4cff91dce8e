"""A penalty for each day of late delivery, capped at 55 % of the price: as a chain of remedies, and one a day."""

from decimal import Decimal

from examples.histories.compensation import (
    PENALTY_CAP,
    TERMINATION_DAYS,
    Amount,
    days_to_cap,
    money,
    penalty,
)
from examples.histories.story import Example, Plain, Variant, answer, later, operation, report

RULE = (
    "The clause “Late Delivery and Penalty” of the Accord Project's template library: for every two days of delay a "
    "penalty of 10.5 % of the price (pro rata, a day begun counting whole), at most 55 %; after more than 15 days the "
    "buyer may terminate; nothing for force majeure, which the buyer grants here by suspending the delivery."
)
EVENTS = {
    "delivered": {"by": "seller", "confirmed_by": "buyer"},
    "credited": {"by": "seller", "confirmed_by": "buyer"},
    "late": {"by": "buyer", "confirmed_by": "seller", "confirm_within": "2 days", "silence": "confirms"},
    "rescinded": {"by": "buyer"},
    "refunded": {"by": "seller", "confirmed_by": "buyer"},
}
PRICE = Decimal(18_000)
"""EUR."""
DELIVER_BY = "2025-05-05T12:00:00Z"
SETTLE_DAYS = 45
SETTLE_BY = later(DELIVER_BY, days=SETTLE_DAYS)
MAY_TERMINATE = later(DELIVER_BY, days=TERMINATION_DAYS)

DAILY_PERCENT = Decimal(5)
"""Per cent a day where each day has its own penalty: a divisor of the cap, so that all are equal."""
LAST_DAY = days_to_cap(percent=DAILY_PERCENT, per_days=1)


def chain(price: Amount = PRICE) -> list[Plain]:
    """Return the delivery and one remedy for each day up to the cap, each for the whole penalty so far."""
    seller = {"debtor": "seller", "creditor": "buyer"}
    settled = f"within {SETTLE_DAYS} days of violated(delivery)"
    penalties = [
        {
            "id": f"penalty{day}",
            **seller,
            "if": "violated(delivery)"
            + (f" and no delivered within {_days(day - 1)} of violated(delivery)" if day > 1 else ""),
            "then": f"credited totalling amount >= {money(penalty(price, day))} {settled}",
        }
        for day in range(1, days_to_cap() + 1)
    ]
    return [
        {"id": "delivery", **seller, "then": f"delivered by {DELIVER_BY}"},
        *penalties,
        {
            "id": "refund",
            **seller,
            "if": f"violated(delivery) and no delivered within {TERMINATION_DAYS} days of violated(delivery)"
            f" and rescinded {settled}",
            "then": f"refunded(amount >= {money(price)}) within 60 days of violated(delivery)",
        },
    ]


def each_day(price: Amount = PRICE) -> list[Plain]:
    """Return the delivery and one penalty, owed anew for each day reported late up to the one that reaches the cap."""
    if PENALTY_CAP % DAILY_PERCENT:
        raise ValueError(f"{DAILY_PERCENT} % a day does not divide the cap of {PENALTY_CAP} %")
    seller = {"debtor": "seller", "creditor": "buyer"}
    return [
        {"id": "delivery", **seller, "then": f"delivered by {DELIVER_BY}"},
        {
            "id": "penalty",
            **seller,
            "each": "day",
            "if": f"violated(delivery) and late(day >= 1, day <= {LAST_DAY}) by {SETTLE_BY}",
            "then": f"credited(amount >= {money(penalty(price, 1, percent=DAILY_PERCENT, per_days=1))})"
            " within 30 days of late",
        },
    ]


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


def history(commitments: list[Plain], lines: list[Plain], *, until: str | None = None) -> Plain:
    """Return a history in which *lines* follow the promise of delivery, looked at from *until* (or its end)."""
    data: Plain = {
        "parties": ["seller", "buyer"],
        "events": EVENTS,
        "powers": {"suspend": ["buyer"]},
        "commitments": commitments,
        "history": lines,
    }
    return data if until is None else {**data, "as_of": until}


def _said(at: str, event: str, name: str, **attributes: str) -> list[Plain]:
    return [
        report(at, event, "seller", name, **attributes),
        answer(later(at, minutes=30), "confirm", name, "buyer"),
    ]


def delivered_after(microseconds: int, *credits: Amount, until: str = later(SETTLE_BY, days=1)) -> Plain:
    """Return the history of a delivery that much late, and of what is credited on the last day for it."""
    lines = _said(later(DELIVER_BY, microseconds=microseconds), "delivered", "d1")
    for number, amount in enumerate(credits, 1):
        lines += _said(SETTLE_BY, "credited", f"c{number}", amount=money(amount))
    return history(chain(), lines, until=until)


def _day_by_day(days: int) -> list[Plain]:
    """Return what the buyer reports on each day late, without an answer, and what the seller credits for it."""
    lines = []
    for day in range(1, days + 1):
        at = later(DELIVER_BY, days=day - 1, microseconds=1)
        lines.append(report(at, "late", "buyer", f"l{day}", day=str(day)))
        if day <= LAST_DAY:
            amount = money(penalty(PRICE, 1, percent=DAILY_PERCENT, per_days=1))
            lines += _said(later(DELIVER_BY, days=day + 20), "credited", f"c{day}", day=str(day), amount=amount)
    return lines


_DAY = 24 * 60 * 60 * 1_000_000

EXAMPLE = Example(
    "late-delivery",
    "A penalty for late delivery",
    RULE,
    {
        "in-time": Variant("delivered at the last instant: no penalty is owed.", delivered_after(0)),
        "a-day": Variant(
            "delivered exactly a day late: one day's penalty, and not two.",
            delivered_after(_DAY, penalty(PRICE, 1)),
        ),
        "at-the-cap": Variant(
            "delivered ten days and a microsecond late: the eleventh day counts, cut to the cap, and is paid exactly.",
            delivered_after(10 * _DAY + 1, penalty(PRICE, 10), penalty(PRICE, 11) - penalty(PRICE, 10)),
        ),
        "a-cent-short": Variant(
            "never delivered, the cap credited less a cent: the last remedy is broken, the ten before it are kept.",
            history(
                chain(),
                _said(SETTLE_BY, "credited", "c1", amount=money(penalty(PRICE, 30) - Decimal("0.01"))),
                until=later(SETTLE_BY, days=1),
            ),
        ),
        "rescinded": Variant(
            "not delivered in 15 days; the buyer rescinds, and gets the price back and the penalty.",
            history(
                chain(),
                [
                    report(later(MAY_TERMINATE, microseconds=1), "rescinded", "buyer", "t1"),
                    *_said(later(DELIVER_BY, days=40), "refunded", "f1", amount=money(PRICE)),
                    *_said(later(DELIVER_BY, days=40), "credited", "c1", amount=money(penalty(PRICE, 40))),
                ],
            ),
        ),
        "force-majeure": Variant(
            "the buyer suspends the delivery for eight days; it comes at its moved deadline, and nothing is owed.",
            history(
                chain(),
                [
                    operation(later(DELIVER_BY, days=-2), "suspend", "delivery", "seller", because="A strike."),
                    operation(
                        later(DELIVER_BY, days=-1), "suspend", "delivery", "buyer", until=later(DELIVER_BY, days=7)
                    ),
                    *_said(later(DELIVER_BY, days=8), "delivered", "d1"),
                ],
            ),
        ),
        "each-day": Variant(
            "5 % for each day that the buyer reports, the seller saying nothing; the twelfth is beyond the cap.",
            history(each_day(), _day_by_day(12), until=later(SETTLE_BY, days=1)),
        ),
    },
)
