"""Denied boarding under Regulation (EC) No 261/2004: the seat, its compensation, interest, and where to complain."""

from datetime import date

from examples.histories.compensation import consumer_rate, eu_band, interest, money
from examples.histories.story import Example, Plain, Variant, answer, later, operation, report

RULE = (
    "Regulation (EC) No 261/2004. Art. 3(2): who presents for check-in in time (here 45 minutes before departure) has "
    "a claim to the seat. Art. 4(3), 7(1): refused against their will, a passenger is owed 250, 400 or 600 EUR by "
    "distance; Art. 7(2): half of it where a re-routing arrives at most 2, 3 or 4 hours late. Art. 4(1): a volunteer "
    "gives up the seat for benefits that both agree. The Regulation says “immediately”; seven days are what "
    "Art. 8(1)(a) gives for refunds. Interest is § 288(1) BGB (a flight from Germany), for the 30 days that follow. A "
    "complaint (Art. 16) goes to a body under Directive 2013/11/EU, whose Art. 8(e) gives it 90 days."
)
EVENTS = {
    "checked_in": {"by": "passenger", "confirmed_by": "airline"},
    "volunteered": {"by": "passenger", "confirmed_by": "airline"},
    "boarded": {"by": "airline", "confirmed_by": "passenger"},
    "rerouted": {"by": "airline", "confirmed_by": "passenger"},
    "paid": {"by": "airline", "confirmed_by": "passenger", "decided_by": "arbiter"},
    "benefit": {"by": "airline", "confirmed_by": "passenger"},
    "complained": {"by": "passenger"},
    "ruled": {"by": "arbiter"},
}
DAYS_TO_PAY = 7
DAYS_OF_INTEREST = 30

DEPARTURE = "2025-07-14T10:00:00Z"
CLOSING = later(DEPARTURE, minutes=-45)
REFUSED = later(DEPARTURE, minutes=-20)
PAYABLE = later(REFUSED, days=DAYS_TO_PAY)
"""The end of the time to pay: the airline announces its refusal, and that is when the promise of a seat is broken."""
INTEREST_END = later(PAYABLE, days=DAYS_OF_INTEREST)
COMPLAINT = later(INTEREST_END, days=5)
RULING_END = later(COMPLAINT, days=90)


def commitments(distance_km: int, *, intra_community: bool = False, departure: str = DEPARTURE) -> list[Plain]:
    """Return what an airline owes by the Regulation to a passenger booked on a flight of *distance_km*."""
    full, limit = eu_band(distance_km, intra_community=intra_community)
    half = full / 2
    rate = consumer_rate(date.fromisoformat(departure[:10]))
    airline = {"debtor": "airline", "creditor": "passenger"}
    offered = f"rerouted(minutes_late <= {limit})"
    in_time = f"within {DAYS_TO_PAY} days of violated(seat)"
    with_interest = f"within {DAYS_OF_INTEREST} days of violated(compensation)"
    whole, reduced = (money(owed + interest(owed, rate, DAYS_OF_INTEREST)) for owed in (full, half))
    return [
        {
            "id": "seat",
            **airline,
            "if": f"checked_in by {later(departure, minutes=-45)}",
            "then": f"boarded by {departure}",
        },
        {
            "id": "compensation",
            **airline,
            "if": "violated(seat)",
            "then": f"paid(amount >= {money(full)}) {in_time}"
            f" or ({offered} and paid(amount >= {money(half)})) {in_time}",
        },
        {
            "id": "interest",
            **airline,
            "if": "violated(compensation)",
            "then": f"paid totalling amount >= {whole} {with_interest}"
            f" or {offered} {in_time} and paid totalling amount >= {reduced} {with_interest}",
        },
        {
            "id": "ruling",
            "debtor": "arbiter",
            "creditor": "passenger",
            "if": "violated(interest) and complained within 365 days of violated(interest)",
            "then": "ruled within 90 days of complained",
        },
        {
            "id": "benefits",
            **airline,
            "if": f"terminated(seat) and volunteered by {departure}",
            "then": f"benefit(value >= {money(full)}) within {DAYS_TO_PAY} days of terminated(seat)",
        },
    ]


def history(distance_km: int, lines: list[Plain], *, intra_community: bool = False, until: str | None = None) -> Plain:
    """Return a history in which *lines* follow the promise of the seat, looked at from *until* (or its end)."""
    data: Plain = {
        "parties": ["airline", "passenger", "arbiter"],
        "events": EVENTS,
        "commitments": commitments(distance_km, intra_community=intra_community),
        "history": lines,
    }
    return data if until is None else {**data, "as_of": until}


def _said(at: str, event: str, name: str, **attributes: str) -> list[Plain]:
    """Return what one side reports and the other confirms a minute later."""
    by, other = EVENTS[event]["by"], EVENTS[event]["confirmed_by"]
    return [report(at, event, by, name, **attributes), answer(later(at, minutes=1), "confirm", name, other)]


def refused(checked_in: str = later(DEPARTURE, hours=-2)) -> list[Plain]:
    """Return how the passenger checks in and is refused at the gate."""
    because = "The flight is overbooked and nobody volunteered."
    return [*_said(checked_in, "checked_in", "c1"), operation(REFUSED, "cancel", "seat", "airline", because=because)]


def paid(at: str, amount: str, name: str = "p1") -> list[Plain]:
    """Return how *amount* is paid, and the passenger confirms it."""
    return _said(at, "paid", name, amount=amount)


def rerouted(minutes_late: int) -> list[Plain]:
    """Return how a re-routing is offered that arrives *minutes_late*."""
    return _said(later(REFUSED, hours=1), "rerouted", "r1", minutes_late=str(minutes_late))


def _owed(distance_km: int, *, intra_community: bool = False, halves: int = 2) -> str:
    return money(eu_band(distance_km, intra_community=intra_community)[0] / 2 * halves)


def _interest(distance_km: int) -> str:
    full = eu_band(distance_km)[0]
    return money(interest(full, consumer_rate(date.fromisoformat(DEPARTURE[:10])), DAYS_OF_INTEREST))


NEW_YORK, LONDON, REUNION = 6_190, 655, 9_220
"""Kilometres from Frankfurt, as the examples take them; Réunion lies within the Community, the other two outside."""
_LATE = later(PAYABLE, microseconds=1)

EXAMPLE = Example(
    "eu261",
    "Denied boarding in the EU",
    RULE,
    {
        "boarded": Variant(
            "the passenger flies; nothing else is owed.",
            history(
                NEW_YORK,
                [
                    *_said(CLOSING, "checked_in", "c1"),
                    *_said(later(DEPARTURE, minutes=-10), "boarded", "b1"),
                ],
            ),
        ),
        "paid": Variant(
            "refused at the gate, 600 EUR paid at the last instant.",
            history(NEW_YORK, [*refused(), *paid(PAYABLE, _owed(NEW_YORK))]),
        ),
        "halved": Variant(
            "re-routed to arrive three hours late, within the Community: half of 400 EUR is enough.",
            history(
                REUNION,
                [
                    *refused(),
                    *rerouted(180),
                    *paid(later(REFUSED, days=2), _owed(REUNION, intra_community=True, halves=1)),
                ],
                intra_community=True,
            ),
        ),
        "not-halved": Variant(
            "the re-routing arrives a minute more than two hours late: half of 250 EUR is not enough.",
            history(
                LONDON,
                [*refused(), *rerouted(121), *paid(later(REFUSED, days=2), _owed(LONDON, halves=1))],
                until=later(PAYABLE, days=1),
            ),
        ),
        "paid-late": Variant(
            "600 EUR a microsecond too late, then the interest: broken, and made good.",
            history(
                NEW_YORK,
                [*refused(), *paid(_LATE, _owed(NEW_YORK)), *paid(INTEREST_END, _interest(NEW_YORK), "p2")],
            ),
        ),
        "not-paid": Variant(
            "nothing is paid, nor later with interest; the passenger complains and gets a ruling on the last day.",
            history(
                NEW_YORK,
                [
                    *refused(),
                    report(COMPLAINT, "complained", "passenger", "k1"),
                    report(RULING_END, "ruled", "arbiter", "d1", awarded=_owed(NEW_YORK)),
                ],
            ),
        ),
        "disputed": Variant(
            "the airline says it paid, and would confirm that itself; the passenger disputes it, and is right.",
            history(
                NEW_YORK,
                [
                    *refused(),
                    report(later(REFUSED, days=3), "paid", "airline", "p1", amount=_owed(NEW_YORK)),
                    answer(later(REFUSED, days=3, minutes=1), "confirm", "p1", "airline"),
                    answer(later(REFUSED, days=4), "dispute", "p1", "passenger"),
                    answer(later(PAYABLE, days=10), "decide", "p1", "arbiter", holds=False),
                ],
            ),
        ),
        "volunteer": Variant(
            "one passenger gives up the seat for benefits: a release, and no breach.",
            history(
                NEW_YORK,
                [
                    *_said(later(DEPARTURE, hours=-2), "checked_in", "c1"),
                    *_said(later(DEPARTURE, hours=-1), "volunteered", "v1"),
                    operation(later(DEPARTURE, minutes=-50), "release", "seat", "passenger"),
                    *_said(later(DEPARTURE, days=1), "benefit", "g1", value=_owed(NEW_YORK)),
                ],
            ),
        ),
        "late-at-the-desk": Variant(
            "checked in a microsecond after closing: the seat was not owed, so nothing is.",
            history(
                NEW_YORK,
                _said(later(CLOSING, microseconds=1), "checked_in", "c1"),
                until=later(DEPARTURE, days=1),
            ),
        ),
    },
)
