"""What public rules make of a breach, in money: pure functions over integers and decimals, exact to the cent.

Each function names its source. They state the amount only; whether a claim exists at all (who is covered, what
excuses) is not decided here.
"""

from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

Amount = int | Decimal

CENT: Final = Decimal("0.01")
DAY: Final = 24 * 60 * 60 * 1_000_000
"""A day in microseconds."""


def money(amount: Amount) -> str:
    """Write *amount* with two decimals; one that has a fraction of a cent is a ``ValueError``."""
    exact = Decimal(amount).quantize(CENT)
    if exact != amount:
        raise ValueError(f"{amount} has a fraction of a cent")
    return str(exact)


def round_to_cent(amount: Amount) -> Decimal:
    """Round to the nearest cent, a half upwards."""
    return Decimal(amount).quantize(CENT, rounding=ROUND_HALF_UP)


def _not_negative(**amounts: Amount | None) -> None:
    for name, amount in amounts.items():
        if amount is not None and amount < 0:
            raise ValueError(f"{name} must not be negative: {amount}")


# --- Regulation (EC) No 261/2004 --------------------------------------------------------------------------------------


def eu_band(distance_km: Amount, *, intra_community: bool = False) -> tuple[Decimal, int]:
    """Return the full compensation in EUR and the minutes a re-routing may arrive late for it to be halved.

    Regulation (EC) No 261/2004, Art. 7(1) and (2): (a) up to 1,500 km, 250 EUR and two hours; (b) every longer flight
    within the Community, and others up to 3,500 km, 400 EUR and three hours; (c) all the rest, 600 EUR and four hours.
    """
    if distance_km <= 0:
        raise ValueError(f"a flight has a distance above 0 km, not {distance_km}")
    if distance_km <= 1_500:
        return Decimal(250), 120
    if intra_community or distance_km <= 3_500:
        return Decimal(400), 180
    return Decimal(600), 240


def eu_compensation(
    distance_km: Amount, *, intra_community: bool = False, rerouted_minutes_late: int | None = None
) -> Decimal:
    """Return the compensation in EUR for boarding denied against the passenger's will.

    Regulation (EC) No 261/2004, Art. 4(3) and 7. *rerouted_minutes_late*: by how much the re-routing offered arrives
    after the flight booked (``None``: none offered); up to the limit of its band it halves the amount, Art. 7(2).
    """
    _not_negative(rerouted_minutes_late=rerouted_minutes_late)
    full, limit = eu_band(distance_km, intra_community=intra_community)
    halved = rerouted_minutes_late is not None and rerouted_minutes_late <= limit
    return full / 2 if halved else full


# --- 14 CFR part 250 --------------------------------------------------------------------------------------------------

US_CAPS: Final = (
    (date(2025, 1, 22), 1_075, 2_150),  # 89 FR 84815; by 90 FR 9952 not enforced before 2025-03-20
    (date(2021, 4, 13), 775, 1_550),  # 86 FR 2534
    (date(2015, 8, 25), 675, 1_350),  # 80 FR 30144
)
"""From when (local date), and the caps in USD on 200 % and on 400 % of the fare."""


def us_caps(on: date) -> tuple[Decimal, Decimal]:
    """Return the caps in USD on 200 % and 400 % of the fare for boarding denied on the local date *on*."""
    for since, on_double, on_quadruple in US_CAPS:
        if on >= since:
            return Decimal(on_double), Decimal(on_quadruple)
    raise ValueError(f"no caps are held for {on}, only since {US_CAPS[-1][0]}")


def us_limits(*, international: bool = False) -> tuple[int, int]:
    """Return the minutes up to which nothing is owed, and from which 400 % are owed instead of 200 %.

    14 CFR 250.5(a), (b): not later than one hour, nothing; less than two hours (from the US abroad: four), 200 %.
    """
    return 60, 240 if international else 120


def us_compensation(fare: Amount, minutes_late: int | None, *, on: date, international: bool = False) -> Decimal:
    """Return the least compensation in USD for boarding denied involuntarily on the local date *on*.

    14 CFR 250.5: by when the substitute is planned to arrive after the flight booked (``None``: none was offered),
    200 % or 400 % of the one-way *fare*, taxes included, or the cap of the day, whichever is lower.
    """
    _not_negative(fare=fare, minutes_late=minutes_late)
    nothing_up_to, quadruple_from = us_limits(international=international)
    on_double, on_quadruple = us_caps(on)
    if minutes_late is not None and minutes_late <= nothing_up_to:
        return Decimal(0)
    if minutes_late is not None and minutes_late < quadruple_from:
        return min(round_to_cent(2 * fare), on_double)
    return min(round_to_cent(4 * fare), on_quadruple)


# --- Interest on what is paid late ------------------------------------------------------------------------------------

ECB_REFERENCE: Final = ((date(2025, 7, 1), Decimal("2.15")), (date(2025, 1, 1), Decimal("3.15")))
"""Per cent a year on main refinancing operations, on the first day of the half-year: stated for these
examples, not checked against the European Central Bank's own table."""
BASE_RATE: Final = ((date(2025, 7, 1), Decimal("1.27")), (date(2025, 1, 1), Decimal("2.27")))
"""Per cent a year: the base rate of § 247 BGB, stated for these examples and not checked either."""
LAST_RATED: Final = date(2025, 12, 31)
RECOVERY: Final = Decimal(40)
"""EUR, Directive 2011/7/EU, Art. 6(1): the least fixed sum for the costs of recovery."""


def _rate(rates: tuple[tuple[date, Decimal], ...], on: date) -> Decimal:
    if on <= LAST_RATED:
        for since, rate in rates:
            if on >= since:
                return rate
    raise ValueError(f"no rate is held for {on}, only from {rates[-1][0]} to {LAST_RATED}")


def consumer_rate(on: date) -> Decimal:
    """Return the per cent a year owed to a consumer: § 288(1) BGB, five points above the base rate."""
    return _rate(BASE_RATE, on) + 5


def commercial_rate(on: date) -> Decimal:
    """Return the per cent a year between businesses: Directive 2011/7/EU, Art. 2(6), eight points above the ECB's."""
    return _rate(ECB_REFERENCE, on) + 8


def interest(principal: Amount, percent: Decimal, days: int) -> Decimal:
    """Return simple interest for *days* of a year of 365, to the nearest cent."""
    _not_negative(principal=principal, percent=percent, days=days)
    return round_to_cent(principal * percent * days / (100 * 365))


def late_fee(price: Amount, days: int, *, due: date) -> Decimal:
    """Return what a business owes besides a *price* that it pays *days* after the date *due*.

    CISG Art. 78 grants interest and leaves the rate open; rate and fixed sum are those of Directive 2011/7/EU,
    Art. 3(1), 2(6) and 6(1). The rate of the half-year in which it was due is used throughout.
    """
    _not_negative(days=days)
    return RECOVERY + interest(price, commercial_rate(due), days) if days else Decimal(0)


# --- CMR: carriage of goods by road -----------------------------------------------------------------------------------

SDR_PER_KG: Final = Decimal("8.33")


def carriage_delay(damage: Amount, charges: Amount) -> Decimal:
    """Return what is owed for goods delivered late: CMR Art. 23(5), the damage, at most the carriage charges."""
    _not_negative(damage=damage, charges=charges)
    return round_to_cent(min(damage, charges))


def carriage_loss(value: Amount, weight_kg: Amount, charges: Amount, *, sdr: Decimal) -> Decimal:
    """Return what is owed for goods lost, in the currency of which one special drawing right is worth *sdr*.

    CMR Art. 23(1), (3) and (4): their value, at most 8.33 units of account a kilogram, and the carriage charges.
    """
    _not_negative(value=value, weight_kg=weight_kg, charges=charges, sdr=sdr)
    return round_to_cent(min(Decimal(value), SDR_PER_KG * weight_kg * sdr) + charges)


# --- Late delivery and penalty ----------------------------------------------------------------------------------------

PENALTY_PERCENT: Final = Decimal("10.5")
PENALTY_DAYS: Final = 2
PENALTY_CAP: Final = Decimal(55)
TERMINATION_DAYS: Final = 15
"""The figures of the clause "Late Delivery and Penalty" in the Accord Project's template library."""


def days_begun(microseconds: int) -> int:
    """Return how many days a delay counts: a day begun is a day."""
    _not_negative(microseconds=microseconds)
    return -(-microseconds // DAY)


def penalty(
    price: Amount,
    days_late: int,
    *,
    percent: Decimal = PENALTY_PERCENT,
    per_days: int = PENALTY_DAYS,
    cap_percent: Decimal = PENALTY_CAP,
) -> Decimal:
    """Return the penalty for a delivery *days_late*: *percent* of *price* every *per_days* days, pro rata, capped.

    The clause "Late Delivery and Penalty" (Accord Project): 10.5 % for every two days, a day begun counting whole,
    never above 55 % of the price.
    """
    _not_negative(price=price, days_late=days_late, percent=percent, cap_percent=cap_percent)
    return round_to_cent(min(price * percent * days_late / (100 * per_days), price * cap_percent / 100))


def days_to_cap(
    *, percent: Decimal = PENALTY_PERCENT, per_days: int = PENALTY_DAYS, cap_percent: Decimal = PENALTY_CAP
) -> int:
    """Return the day on which the penalty reaches its cap."""
    whole, rest = divmod(cap_percent * per_days, percent)
    return int(whole) + (1 if rest else 0)
