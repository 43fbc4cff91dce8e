"""A delivery by a haulier who hands it on: a promise to get a promise, delegation, and who answers for the failure."""

from decimal import Decimal

from examples.histories.compensation import carriage_delay, carriage_loss, money
from examples.histories.story import Example, Plain, Variant, answer, later, operation, report

RULE = (
    "UNIDROIT Principles of International Commercial Contracts, Art. 9.2.1 and 9.2.5: an obligation may pass to a new "
    "obligor; unless the obligee discharges the original one, it stays liable beside the new one. CMR (carriage of "
    "goods by road) Art. 3: a carrier answers for those it uses as for itself; Art. 20(1): not delivered within 30 "
    "days after the agreed time, goods count as lost; Art. 23(5): for delay the damage is owed, at most the carriage "
    "charges; Art. 23(3), (4): for loss the value, at most 8.33 units of account a kilogram, and the charges; "
    "Art. 30(3): nothing for delay unless a reservation is sent within 21 days."
)
EVENTS = {
    "paid": {"by": "customer", "confirmed_by": "shop"},
    "delivered": {"by": "customer"},
    "reserved": {"by": "customer"},
    "compensated": {"by": "haulier", "confirmed_by": "customer"},
}
DAMAGE, CHARGES, VALUE, WEIGHT_KG = Decimal("1480.00"), Decimal("900.00"), Decimal(24_000), 1_200
SDR = Decimal("1.17")
"""EUR for one special drawing right, as the example takes it."""

PAID, ARRANGED = "2025-03-03T09:00:00Z", "2025-03-05T09:00:00Z"
ARRANGE_BY = later(PAID, hours=2, days=3)
"""Three days from the confirmation of the payment."""
DELIVER_BY = "2025-03-14T17:00:00Z"
LOST_AT = later(DELIVER_BY, days=30)
LATE_AT = later(DELIVER_BY, days=6)
RESERVE_BY = later(LATE_AT, days=21)
PAY_DELAY_BY = later(RESERVE_BY, days=30)
PAY_LOSS_BY = later(DELIVER_BY, days=60)


def commitments() -> list[Plain]:
    """Return the shop's promise to arrange the carriage, and the haulier's promises."""
    haulier = {"debtor": "haulier", "creditor": "customer"}
    delay = money(carriage_delay(DAMAGE, CHARGES))
    loss = money(carriage_loss(VALUE, WEIGHT_KG, CHARGES, sdr=SDR))
    return [
        {
            "id": "arrange",
            "debtor": "shop",
            "creditor": "customer",
            "if": "paid by 2025-03-07T00:00:00Z",
            "then": "created(carriage) within 3 days of paid",
        },
        {"id": "carriage", **haulier, "then": f"delivered by {DELIVER_BY}"},
        {
            "id": "delay",
            **haulier,
            "if": "violated(carriage) and delivered within 30 days of violated(carriage)"
            " and reserved within 21 days of delivered",
            "then": f"compensated(amount >= {delay}) within 30 days of reserved",
        },
        {
            "id": "loss",
            **haulier,
            "if": "violated(carriage) and no delivered within 30 days of violated(carriage)",
            "then": f"compensated(amount >= {loss}) within 60 days of violated(carriage)",
        },
    ]


def history(lines: list[Plain], *, until: str | None = None) -> Plain:
    """Return a history in which *lines* follow the payment, looked at from *until* (or its end)."""
    data: Plain = {
        "parties": ["shop", "customer", "haulier", "subhaulier"],
        "events": EVENTS,
        "commitments": commitments(),
        "history": [
            report(PAID, "paid", "customer", "p1", amount=money(VALUE)),
            answer(later(PAID, hours=2), "confirm", "p1", "shop"),
            *lines,
        ],
    }
    return data if until is None else {**data, "as_of": until}


_ARRANGED = [operation(ARRANGED, "create", "carriage", "haulier")]
_HANDED_ON = [
    *_ARRANGED,
    operation(later(ARRANGED, days=1), "delegate", "carriage", "haulier", to="subhaulier"),
    operation(later(ARRANGED, days=2), "accept", "carriage", "subhaulier"),
]


def _compensated(at: str, amount: Decimal) -> list[Plain]:
    return [
        report(at, "compensated", "haulier", "k1", amount=money(amount)),
        answer(later(at, hours=1), "confirm", "k1", "customer"),
    ]


EXAMPLE = Example(
    "subcontract",
    "A subcontracted delivery",
    RULE,
    {
        "kept": Variant(
            "the haulier promises the carriage, hands it on, and the new debtor delivers at the last instant.",
            history([*_HANDED_ON, report(DELIVER_BY, "delivered", "customer", "d1")]),
        ),
        "late": Variant(
            "the new debtor delivers six days late; the first one stays answerable and pays the carriage charges, "
            "which are less than the damage. Having handed on, it can no longer cancel.",
            history(
                [
                    *_HANDED_ON,
                    operation(later(ARRANGED, days=3), "cancel", "carriage", "haulier"),
                    report(LATE_AT, "delivered", "customer", "d1"),
                    report(RESERVE_BY, "reserved", "customer", "r1"),
                    *_compensated(PAY_DELAY_BY, carriage_delay(DAMAGE, CHARGES)),
                ]
            ),
        ),
        "reserved-too-late": Variant(
            "the same, but the reservation comes a microsecond after 21 days: nothing is owed for the delay.",
            history(
                [
                    *_HANDED_ON,
                    report(LATE_AT, "delivered", "customer", "d1"),
                    report(later(RESERVE_BY, microseconds=1), "reserved", "customer", "r1"),
                ]
            ),
        ),
        "lost": Variant(
            "nothing arrives in 30 days: the goods count as lost; the haulier pays what 8.33 units a kilogram give.",
            history([*_HANDED_ON, *_compensated(PAY_LOSS_BY, carriage_loss(VALUE, WEIGHT_KG, CHARGES, sdr=SDR))]),
        ),
        "not-accepted": Variant(
            "the one named never accepts and a stranger to the offer tries to: the haulier stays the debtor.",
            history(
                [
                    *_ARRANGED,
                    operation(later(ARRANGED, days=1), "delegate", "carriage", "haulier", to="subhaulier"),
                    operation(later(ARRANGED, days=2), "accept", "carriage", "shop"),
                ],
                until=later(DELIVER_BY, days=1),
            ),
        ),
        "not-arranged": Variant(
            "the haulier promises a microsecond too late; the shop has broken its promise to get that promise, and "
            "could not have made it in the haulier's name.",
            history(
                [
                    operation(later(ARRANGED, days=-1), "create", "carriage", "shop"),
                    operation(later(ARRANGE_BY, microseconds=1), "create", "carriage", "haulier"),
                ]
            ),
        ),
    },
)
