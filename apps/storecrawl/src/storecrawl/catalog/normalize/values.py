"""Read the values that sources write exactly: numbers, prices in cents, times, weight, potency, stock."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal

from storecrawl.catalog.normalize.menu import Availability, Potency, PotencyUnit, Weight

MAGNITUDE_LIMIT = 10**15
_NUMBER = re.compile(r"\$?(-?(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,15})?(?:\.[0-9]{0,15})?)")
CENT = Decimal("0.01")
HIGHEST_PRICE = Decimal("9999999.99")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
LATEST_MILLISECONDS = (LATEST - EPOCH) // timedelta(milliseconds=1)
GRAMS_PER_OUNCE = Decimal(28)
HEAVIEST = Decimal(99_999)
STEP = Decimal("0.001")
_PACK = re.compile(r"(?P<count>[0-9]{1,4}) ?(?:pk|pack)(?:s)?(?: ?/ ?(?P<rest>.+))?", re.IGNORECASE)
# A trailing C marks a concentrate ("1gC" is one gram); it is not a unit.
_AMOUNT = re.compile(
    r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})(?:/(?P<parts>[0-9]{1,3}))?"
    r" ?(?P<unit>mg|milligrams?|g|grams?|oz|ounces?|ml|milliliters?)c?",
    re.IGNORECASE,
)
WEIGHT_UNITS = {"m": "mg", "g": "g", "o": "oz"}
_WITH_UNIT = re.compile(r"(?P<number>[0-9.,]+) ?(?P<unit>%|mg(?:/g|/ml)?)", re.IGNORECASE)
_BETWEEN = re.compile(r"(?<=\S) ?[-–] ?(?=[0-9.])")
HIGHEST_POTENCY = Decimal("999999.999")
HIGHEST_PERCENTAGE = Decimal(100)
POTENCY_UNITS = {
    "PERCENTAGE": PotencyUnit.PERCENTAGE,
    "%": PotencyUnit.PERCENTAGE,
    "MILLIGRAMS": PotencyUnit.MILLIGRAMS,
    "MG": PotencyUnit.MILLIGRAMS,
    "MILLIGRAMS_PER_GRAM": PotencyUnit.MILLIGRAMS_PER_GRAM,
    "MG/G": PotencyUnit.MILLIGRAMS_PER_GRAM,
    "MILLIGRAMS_PER_ML": PotencyUnit.MILLIGRAMS_PER_ML,
    "MG/ML": PotencyUnit.MILLIGRAMS_PER_ML,
}
HIGHEST_QUANTITY = 1_000_000_000
SOURCE_CAP = 25
"""Plus, Joint and the point-of-sale data of GraphQL stop counting here: 25 means 25 or more."""


def decimal_of(value: object) -> Decimal | None:
    """Return the exact value of a JSON number, or of a text such as "30.00", ".5" or "$1,249.50"; otherwise None.

    A float becomes the shortest text that reads back as it, which is what the source wrote.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, int):
        return Decimal(value) if abs(value) < MAGNITUDE_LIMIT else None
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) and abs(value) < MAGNITUDE_LIMIT else None
    if isinstance(value, Decimal):
        return value if value.is_finite() and abs(value) < MAGNITUDE_LIMIT else None
    return None


def _from_text(value: str) -> Decimal | None:
    found = _NUMBER.fullmatch(value.strip())
    digits = found[1].replace(",", "") if found else ""
    return Decimal(digits) if any(character.isdigit() for character in digits) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The four prices of one option, in cents."""

    rec: int | None
    med: int | None
    special_rec: int | None
    special_med: int | None


def cents_of(dollars: object) -> int | None:
    """Return a price in cents, half a cent rounded up; None if absent, not positive or too large for the column."""
    amount = decimal_of(dollars)
    if amount is None or not 0 < amount <= HIGHEST_PRICE:
        return None
    return int(amount.quantize(CENT, rounding=ROUND_HALF_UP).scaleb(2)) or None


def stated_cents(*dollars: object) -> int | None:
    """Return the first price that is present. A zero means that there is no price, and no other one replaces it."""
    return cents_of(next((amount for amount in map(decimal_of, dollars) if amount is not None), None))


def prices_of(*, rec: object, med: object, special_rec: object, special_med: object) -> Prices:
    """Return the prices of an option whose prices are all named."""
    rec_cents, med_cents = cents_of(rec), cents_of(med)
    return Prices(
        rec=rec_cents,
        med=med_cents,
        special_rec=special_cents(special_rec, rec_cents),
        special_med=special_cents(special_med, med_cents),
    )


def special_cents(dollars: object, regular_cents: int | None) -> int | None:
    """Return a special price in cents if it is lower than a known regular price."""
    cents = cents_of(dollars)
    return cents if cents is not None and regular_cents is not None and cents < regular_cents else None


def moment_of(value: object) -> datetime | None:
    """Return a time in UTC, or None. A text without a time zone is in UTC."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        text = value.strip()
        return _from_milliseconds(int(text)) if _is_integer(text) else _from_iso(text)
    if isinstance(value, int) and not isinstance(value, bool):
        return _from_milliseconds(value)
    return None


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _from_milliseconds(value: int) -> datetime | None:
    return EPOCH + timedelta(milliseconds=value) if 0 < value < LATEST_MILLISECONDS else None


def _from_iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return zoned if EPOCH < zoned < LATEST else None


def weight_of(option: str) -> Weight | None:
    """Return the weight in an option ("1/8oz" is 3.5 g, "10pk/100mg" is 100 mg in total); otherwise None."""
    pack = _PACK.fullmatch(option)
    found = _AMOUNT.fullmatch((pack["rest"] or "") if pack else option)
    parts = Decimal(found["parts"] or 1) if found else None
    if found is None or not parts:
        return None
    return _weight(Decimal(found["number"]) / parts, _unit(found["unit"]))


def is_dose(amount: Weight | None) -> bool:
    """Return whether an amount of a product sold by dose is one: milligrams, or less than a gram (".1g" is 100 mg)."""
    return amount is not None and (amount.unit == "mg" or (amount.unit == "g" and amount.value < 1))


def dose_of(amount: Weight | None, stated: object) -> Decimal | None:
    """Return the milligrams of active substance in a package: from its option, otherwise `stated`."""
    if amount is not None and is_dose(amount):
        return amount.value if amount.unit == "mg" else (amount.value * 1000).quantize(STEP)
    dose = decimal_of(stated)
    return dose.quantize(STEP, rounding=ROUND_HALF_UP) or None if dose is not None and 0 < dose <= HEAVIEST else None


def pack_count_of(option: str) -> int | None:
    """Return the number of pieces in an option such as "10pk/100mg"."""
    pack = _PACK.fullmatch(option)
    return int(pack["count"]) or None if pack else None


def _unit(spelling: str) -> str:
    lower = spelling.lower()
    return "ml" if lower in {"ml", "milliliter", "milliliters"} else WEIGHT_UNITS[lower[0]]


def _weight(amount: Decimal, unit: str) -> Weight | None:
    grams = unit == "oz"
    value = (amount * GRAMS_PER_OUNCE if grams else amount).quantize(STEP, rounding=ROUND_HALF_UP)
    if not 0 < value <= HEAVIEST:
        return None
    return Weight(value=value, unit="g" if grams else unit)


def potency_of(content: object, legacy: object = None) -> Potency | None:
    """Read `{unit, range}`, or `value` or `formatted` if there is no range, or a bare scalar.

    `legacy` counts only if `content` has no figure.
    """
    if not isinstance(content, Mapping):
        return potency_between([legacy if content is None else content], None)
    for figures in _figures(content):
        if any(_parse_figure(figure) is not None for figure in figures):
            return potency_between(figures, content.get("unit"))
    return potency_between([legacy], None)


def potency_between(figures: Iterable[object], unit: object) -> Potency | None:
    """Return the range of the usable figures, or None if there are none. A unit next to a figure counts."""
    stated = [figure for figure in map(_parse_figure, figures) if figure is not None]
    known = next((own for _, own in stated if own is not None), unit_of(unit))
    usable = [value for value, _ in stated if is_possible(value, known)]
    if not usable:
        return None
    return Potency(lo=_round(min(usable)), hi=_round(max(usable)), unit=known)


def _figures(content: Mapping[str, object]) -> Iterable[Sequence[object]]:
    figures, formatted = content.get("range"), content.get("formatted")
    yield figures if isinstance(figures, list) else ()
    yield (content.get("value"),)
    yield _BETWEEN.split(formatted) if isinstance(formatted, str) else ()


def _parse_figure(figure: object) -> tuple[Decimal, PotencyUnit | None] | None:
    found = _WITH_UNIT.fullmatch(figure.strip()) if isinstance(figure, str) else None
    value = decimal_of(found["number"] if found else figure)
    return None if value is None else (value, unit_of(found["unit"]) if found else None)


def unit_of(unit: object) -> PotencyUnit | None:
    """Return the unit of a spelling, or None if missing or unknown."""
    return POTENCY_UNITS.get(unit.strip().upper()) if isinstance(unit, str) else None


def is_possible(value: Decimal, unit: PotencyUnit | None) -> bool:
    """Return whether a potency is possible: not negative, and at most the whole."""
    highest = HIGHEST_PERCENTAGE if unit is PotencyUnit.PERCENTAGE else HIGHEST_POTENCY
    return 0 <= value <= highest


def _round(value: Decimal) -> Decimal:
    return value.quantize(STEP, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionStock:
    """The known stock of an option: its quantity, and whether the store says it is below its threshold."""

    quantity: int | None
    below_threshold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """The availability of a product, and of each of its options in their order."""

    availability: Availability
    in_stock: bool
    options_in_stock: tuple[bool, ...]


def quantity_of(*values: object) -> int | None:
    """Return the first usable quantity; a negative one (oversold) is 0, a fraction counts as 1."""
    return next((count for count in map(_count, values) if count is not None), None)


def is_active(status: object) -> bool | None:
    """Return whether a product's own status is active; None if it has none."""
    return status.strip().lower() == "active" if isinstance(status, str) else None


def stock_of(active: bool | None, below_threshold: bool, options: Sequence[OptionStock]) -> Stock:
    """Determine the stock of a product and its options.

    An active product is in stock if it has a quantity, or no quantity data and is not below its threshold.
    A product without any data is unknown.
    """
    counted = any(option.quantity is not None for option in options)
    if active is None and not counted:
        return Stock(availability=Availability.UNKNOWN, in_stock=False, options_in_stock=(False,) * len(options))
    verdicts = tuple(active is not False and _has_stock(option, below_threshold, counted) for option in options)
    in_stock = any(verdicts) if options else active is True and not below_threshold
    low = below_threshold or any(option.below_threshold for option in options)
    return Stock(availability=_availability(in_stock, low), in_stock=in_stock, options_in_stock=verdicts)


def _count(value: object) -> int | None:
    amount = decimal_of(value)
    if amount is None or amount > HIGHEST_QUANTITY:
        return None
    return max(0, int(amount.to_integral_value(rounding=ROUND_CEILING)))


def _has_stock(option: OptionStock, below_threshold: bool, counted: bool) -> bool:
    if counted:
        return (option.quantity or 0) > 0
    return not (below_threshold or option.below_threshold)


def _availability(in_stock: bool, low: bool) -> Availability:
    if not in_stock:
        return Availability.OUT_OF_STOCK
    return Availability.LIMITED if low else Availability.IN_STOCK
