"""A sale in two lots: a late fee for the first price, the second lot suspended until it is paid, or called off."""

from datetime import date
from decimal import Decimal

from examples.histories.compensation import late_fee, money
from examples.histories.story import Example, Plain, Variant, answer, later, operation, report

RULE = (
    "CISG, the UN sales convention. Art. 78: interest on a price in arrears; rate and fixed sum are those of Directive "
    "2011/7/EU (ECB reference rate and eight points; 40 EUR), charged by blocks of ten days. Art. 71: a party may "
    "suspend its own performance when it becomes apparent that the other will not perform a substantial part, and must "
    "go on once assured; the deadlines move by the time suspended, as these parties agreed. Art. 63 and 64(1)(b): an "
    "additional period for paying, then avoidance; Art. 73(2): one instalment unpaid is ground to avoid those to come; "
    "Art. 72: so is a breach that is clear beforehand."
)
EVENTS = {
    "delivered": {"by": "seller", "confirmed_by": "buyer"},
    "paid": {"by": "buyer", "confirmed_by": "seller"},
}
PRICE = Decimal(50_000)
"""EUR, of each lot."""
CREDIT_DAYS = 30
BLOCKS = (10, 20, 30)
"""Days of arrears at which the fee steps up; the last ends the additional period for paying."""

LOT1_BY, LOT2_IF_PAID_BY, LOT2_BY = "2025-09-01T00:00:00Z", "2025-11-15T00:00:00Z", "2025-11-30T00:00:00Z"
LOT1_AT = "2025-08-28T10:00:00Z"
LOT1_CONFIRMED = "2025-08-29T10:00:00Z"
PAYABLE = later(LOT1_CONFIRMED, days=CREDIT_DAYS)
"""The time to pay runs from the buyer's confirmation of the delivery."""
PERIOD_END = later(PAYABLE, days=BLOCKS[-1])
SUSPENDED, RESUMED = later(PAYABLE, days=1), later(PAYABLE, days=11)
LOT2_MOVED = later(LOT2_BY, days=10)


def commitments() -> list[Plain]:
    """Return what seller and buyer promise each other."""
    due = date.fromisoformat(PAYABLE[:10])
    seller = {"debtor": "seller", "creditor": "buyer"}
    buyer = {"debtor": "buyer", "creditor": "seller"}
    price = money(PRICE)
    steps = [
        f"(paid(for = lot1) totalling amount >= {price}"
        f" and paid(for = fee) totalling amount >= {money(late_fee(PRICE, days, due=due))})"
        f" within {days} days of violated(price1)"
        for days in BLOCKS
    ]
    return [
        {"id": "lot1", **seller, "then": f"delivered(lot = 1) by {LOT1_BY}"},
        {
            "id": "price1",
            **buyer,
            "if": "delivered(lot = 1)",
            "then": f"paid(for = lot1) totalling amount >= {price} within {CREDIT_DAYS} days of delivered(lot = 1)",
        },
        {"id": "latefee", **buyer, "if": "violated(price1)", "then": " or ".join(steps)},
        {
            "id": "lot2",
            **seller,
            "if": f"paid(for = lot1) totalling amount >= {price} by {LOT2_IF_PAID_BY}",
            "then": f"delivered(lot = 2) by {LOT2_BY}",
        },
        {
            "id": "price2",
            **buyer,
            "if": "delivered(lot = 2)",
            "then": f"paid(for = lot2) totalling amount >= {price} within {CREDIT_DAYS} days of delivered(lot = 2)",
        },
    ]


def history(lines: list[Plain], *, until: str | None = None) -> Plain:
    """Return a history in which *lines* follow the contract, looked at from *until* (or its end)."""
    data: Plain = {
        "parties": ["seller", "buyer"],
        "events": EVENTS,
        "powers": {"suspend": ["seller"]},
        "commitments": commitments(),
        "history": lines,
    }
    return data if until is None else {**data, "as_of": until}


def fee_after(days: int) -> str:
    """Return the fee for a price *days* in arrears, each block of days begun counting whole."""
    block = next(block for block in BLOCKS if days <= block)
    return money(late_fee(PRICE, block, due=date.fromisoformat(PAYABLE[:10])))


_LOT1 = [
    report(LOT1_AT, "delivered", "seller", "d1", lot="1"),
    answer(LOT1_CONFIRMED, "confirm", "d1", "buyer"),
]
_SUSPENDED = operation(SUSPENDED, "suspend", "lot2", "seller", because="The price of the first lot is in arrears.")


def _paid(at: str, name: str, purpose: str, amount: str) -> list[Plain]:
    return [
        report(at, "paid", "buyer", name, **{"for": purpose}, amount=amount),
        answer(later(at, hours=2), "confirm", name, "seller"),
    ]


def _delivered(at: str) -> list[Plain]:
    return [
        report(at, "delivered", "seller", "d2", lot="2"),
        answer(later(at, hours=2), "confirm", "d2", "buyer"),
    ]


def _resumed(delivered: str) -> Plain:
    """Return the history in which the buyer pays eight days late, with the fee, and lot 2 arrives at *delivered*."""
    late = later(PAYABLE, days=8)
    return history(
        [
            *_LOT1,
            operation(later(SUSPENDED, hours=-1), "suspend", "lot2", "buyer"),
            _SUSPENDED,
            *_paid(late, "p1", "lot1", money(PRICE)),
            *_paid(late, "p2", "fee", fee_after(8)),
            operation(RESUMED, "resume", "lot2", "seller"),
            *_delivered(delivered),
        ]
    )


EXAMPLE = Example(
    "sale",
    "A sale of goods in two lots",
    RULE,
    {
        "kept": Variant(
            "both lots delivered and paid, the first price at the last instant and in two parts.",
            history(
                [
                    *_LOT1,
                    *_paid(later(PAYABLE, days=-5), "p1", "lot1", money(PRICE / 2)),
                    *_paid(PAYABLE, "p2", "lot1", money(PRICE / 2)),
                    *_delivered(LOT2_BY),
                    *_paid(later(LOT2_BY, days=20), "p3", "lot2", money(PRICE)),
                ]
            ),
        ),
        "suspended": Variant(
            "the price comes eight days late, with the fee; the second lot, suspended ten days, is due ten days later, "
            "and comes at that instant. The buyer has no power to suspend.",
            _resumed(LOT2_MOVED),
        ),
        "suspended-and-late": Variant(
            "the same, but the second lot comes a microsecond after its moved deadline.",
            _resumed(later(LOT2_MOVED, microseconds=1)),
        ),
        "called-off": Variant(
            "no price, no fee; when the additional period has passed the seller calls off the second lot, and lets the "
            "buyer off its price. The buyer could not have called it off.",
            history(
                [
                    *_LOT1,
                    _SUSPENDED,
                    operation(later(PERIOD_END, days=-1), "cancel", "lot2", "buyer"),
                    operation(later(PERIOD_END, hours=1), "cancel", "lot2", "seller", because="Price 1 stays unpaid."),
                    operation(later(PERIOD_END, hours=1), "release", "price2", "seller"),
                ]
            ),
        ),
        "unconfirmed": Variant(
            "the buyer reports its payment in time, the seller does not confirm it and calls off the second lot: "
            "refused, for nobody keeps the money by not confirming it.",
            history(
                [
                    *_LOT1,
                    report(PAYABLE, "paid", "buyer", "p1", **{"for": "lot1"}, amount=money(PRICE)),
                    operation(later(PAYABLE, days=2), "cancel", "lot2", "seller"),
                ]
            ),
        ),
        "anticipated": Variant(
            "before anything is due the buyer stops all payments; the seller suspends the second lot, is given no "
            "assurance in three weeks, and calls it off while it is suspended.",
            history(
                [
                    *_LOT1,
                    operation(later(LOT1_CONFIRMED, days=3), "suspend", "lot2", "seller", because="It is insolvent."),
                    operation(later(LOT1_CONFIRMED, days=24), "cancel", "lot2", "seller", because="No assurance."),
                ]
            ),
        ),
    },
)
