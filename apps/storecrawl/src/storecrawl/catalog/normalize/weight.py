"""What an option's text says about weight and pack."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from storecrawl.catalog.normalize.menu import Weight

GRAMS_PER_OUNCE = Decimal(28)
HEAVIEST = Decimal(99_999)
STEP = Decimal("0.001")

_PACK = re.compile(r"(?P<count>[0-9]{1,4}) ?(?:pk|pack)(?:s)?(?: ?/ ?(?P<rest>.+))?", re.IGNORECASE)
# A trailing C marks a concentrate ("1gC" is one gram); it is no unit.
_AMOUNT = re.compile(
    r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})(?:/(?P<parts>[0-9]{1,3}))?"
    r" ?(?P<unit>mg|milligrams?|g|grams?|oz|ounces?|ml|milliliters?)c?",
    re.IGNORECASE,
)
_UNITS = {"m": "mg", "g": "g", "o": "oz"}


def weight_of(option: str) -> Weight | None:
    """The weight in an option ("1/8oz" is 3.5 g, "10pk/100mg" is 100 mg in all); else None."""
    pack = _PACK.fullmatch(option)
    found = _AMOUNT.fullmatch((pack["rest"] or "") if pack else option)
    parts = Decimal(found["parts"] or 1) if found else None
    if found is None or not parts:
        return None
    return _weight(Decimal(found["number"]) / parts, _unit(found["unit"]))


def pack_count_of(option: str) -> int | None:
    """How many pieces an option such as "10pk/100mg" holds."""
    pack = _PACK.fullmatch(option)
    return int(pack["count"]) or None if pack else None


def _unit(spelling: str) -> str:
    lower = spelling.lower()
    return "ml" if lower in {"ml", "milliliter", "milliliters"} else _UNITS[lower[0]]


def _weight(amount: Decimal, unit: str) -> Weight | None:
    grams = unit == "oz"
    value = (amount * GRAMS_PER_OUNCE if grams else amount).quantize(STEP, rounding=ROUND_HALF_UP)
    if not 0 < value <= HEAVIEST:
        return None
    return Weight(value=value, unit="g" if grams else unit)
