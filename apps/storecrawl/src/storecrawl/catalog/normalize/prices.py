"""Prices in integer cents, and when a special price counts."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from storecrawl.catalog.normalize.numbers import decimal_of

CENT = Decimal("0.01")
HIGHEST_PRICE = Decimal("9999999.99")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The four prices of one option, in cents."""

    rec: int | None
    med: int | None
    special_rec: int | None
    special_med: int | None


def cents_of(dollars: object) -> int | None:
    """A price in cents, half a cent rounded up; None when it is absent, not positive or beyond the column."""
    amount = decimal_of(dollars)
    if amount is None or not 0 < amount <= HIGHEST_PRICE:
        return None
    return int(amount.quantize(CENT, rounding=ROUND_HALF_UP).scaleb(2)) or None


def first_cents(*dollars: object) -> int | None:
    """The first usable price; a zero counts as absent, as it does upstream."""
    return next((cents for cents in map(cents_of, dollars) if cents is not None), None)


def prices_of(*, rec: object, med: object, special_rec: object, special_med: object) -> Prices:
    """The prices of an option of which each is written out by name."""
    rec_cents, med_cents = cents_of(rec), cents_of(med)
    return Prices(
        rec=rec_cents,
        med=med_cents,
        special_rec=special_cents(special_rec, rec_cents),
        special_med=special_cents(special_med, med_cents),
    )


def special_cents(dollars: object, regular_cents: int | None) -> int | None:
    """A special price in cents, only where it is strictly below a known regular price."""
    cents = cents_of(dollars)
    return cents if cents is not None and regular_cents is not None and cents < regular_cents else None
