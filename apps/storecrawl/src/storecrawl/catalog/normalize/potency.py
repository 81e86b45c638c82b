"""Potency: a range with its unit, or nothing where the figure cannot be true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal

from storecrawl.catalog.normalize.menu import Potency, PotencyUnit
from storecrawl.catalog.normalize.numbers import decimal_of

HIGHEST_POTENCY = Decimal("999999.999")
HIGHEST_PERCENTAGE = Decimal(100)
STEP = Decimal("0.001")

_UNITS = {
    "PERCENTAGE": PotencyUnit.PERCENTAGE,
    "%": PotencyUnit.PERCENTAGE,
    "MILLIGRAMS": PotencyUnit.MILLIGRAMS,
    "MG": PotencyUnit.MILLIGRAMS,
    "MILLIGRAMS_PER_GRAM": PotencyUnit.MILLIGRAMS_PER_GRAM,
    "MG/G": PotencyUnit.MILLIGRAMS_PER_GRAM,
    "MILLIGRAMS_PER_ML": PotencyUnit.MILLIGRAMS_PER_ML,
    "MG/ML": PotencyUnit.MILLIGRAMS_PER_ML,
}


def potency_of(content: object, legacy: object = None) -> Potency | None:
    """Read `{unit, range}` or a bare scalar; `legacy` counts only where `content` holds no figure."""
    if not isinstance(content, Mapping):
        return potency_between([legacy if content is None else content], None)
    figures = content.get("range")
    if not isinstance(figures, list) or not figures:
        return potency_between([legacy], None)
    return potency_between(figures, content.get("unit"))


def potency_between(figures: Iterable[object], unit: object) -> Potency | None:
    """The range that the usable figures span; None when there is none."""
    known = unit_of(unit)
    usable = [value for value in map(decimal_of, figures) if value is not None and _possible(value, known)]
    if not usable:
        return None
    return Potency(lo=_rounded(min(usable)), hi=_rounded(max(usable)), unit=known)


def unit_of(unit: object) -> PotencyUnit | None:
    """The unit behind a spelling, or None where it is missing or unknown."""
    return _UNITS.get(unit.strip().upper()) if isinstance(unit, str) else None


def _possible(value: Decimal, unit: PotencyUnit | None) -> bool:
    highest = HIGHEST_PERCENTAGE if unit is PotencyUnit.PERCENTAGE else HIGHEST_POTENCY
    return 0 <= value <= highest


def _rounded(value: Decimal) -> Decimal:
    return value.quantize(STEP, rounding=ROUND_HALF_UP)
