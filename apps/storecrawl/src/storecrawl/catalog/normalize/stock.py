"""Quantities and availability: what may be called in stock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING

from storecrawl.catalog.normalize.menu import Availability
from storecrawl.catalog.normalize.numbers import decimal_of

HIGHEST_QUANTITY = 1_000_000_000
SOURCE_CAP = 25
"""Where the Plus and Joint sources stop counting: 25 means 25 or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionStock:
    """What is known of one option: its quantity, and whether the store calls it below its threshold."""

    quantity: int | None
    below_threshold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """The verdict on a product and on each of its options, in their order."""

    availability: Availability
    in_stock: bool
    options_in_stock: tuple[bool, ...]


def quantity_of(*values: object) -> int | None:
    """The first usable quantity; oversold (negative) is 0, a part of a unit still is one."""
    return next((count for count in map(_count, values) if count is not None), None)


def is_active(status: object) -> bool | None:
    """What a product's own status says; None where it says nothing."""
    return status.strip().lower() == "active" if isinstance(status, str) else None


def stock_of(active: bool | None, below_threshold: bool, options: Sequence[OptionStock]) -> Stock:
    """Judge a product and its options.

    In stock is what is active and has a quantity, or has no quantity data at all and is not below its
    threshold; a product that says nothing of itself is unknown.
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
