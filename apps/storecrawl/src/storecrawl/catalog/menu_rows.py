"""A menu as a flat list: one row a product, with what a customer pays for the least of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from storecrawl.catalog.normalize import (
    Availability,
    Category,
    Menu,
    Potency,
    PotencyUnit,
    Product,
    Variant,
    Weight,
)

# How many of a unit are one percent of weight; milligrams a piece or a millilitre cannot be told as such.
TO_PERCENT: Final = {PotencyUnit.PERCENTAGE: Decimal(1), PotencyUnit.MILLIGRAMS_PER_GRAM: Decimal(10)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuRow:
    """One product of a menu.

    Prices are cents: the lowest over the product's options, specials counted. `price` is the recreational one, or
    the medical one where there is no other; `weight` is that of the option that has this price. `id` is the
    platform's key.
    """

    id: str
    name: str
    brand: str | None
    category: Category | None
    subcategory: str | None
    strain_type: str | None
    price: int | None
    price_med: int | None
    price_rec: int | None
    thc: Potency | None
    cbd: Potency | None
    weight: Weight | None
    status: Availability
    in_stock: bool
    image_url: str | None
    description: str | None


def rows_of(menu: Menu) -> list[MenuRow]:
    """One row a product, in the menu's order."""
    return [_row(product) for product in menu.products]


def percent_of(potency: Potency | None) -> tuple[Decimal, Decimal] | None:
    """A potency as percent of weight, from and to; None where it is unknown or counted otherwise."""
    if potency is None or potency.unit is None or potency.unit not in TO_PERCENT:
        return None
    divisor = TO_PERCENT[potency.unit]
    return potency.lo / divisor, potency.hi / divisor


def _row(product: Product) -> MenuRow:
    rec = _lowest(_rec(variant) for variant in product.variants)
    med = _lowest(_med(variant) for variant in product.variants)
    price = med if rec is None else rec
    return MenuRow(
        id=product.external_id,
        name=product.name,
        brand=product.brand,
        category=product.category,
        subcategory=product.subcategory,
        strain_type=product.strain_type,
        price=price,
        price_med=med,
        price_rec=rec,
        thc=product.thc,
        cbd=product.cbd,
        weight=_weight_at(price, product),
        status=product.availability,
        in_stock=product.in_stock,
        image_url=product.image_url,
        description=product.description,
    )


def _rec(variant: Variant) -> int | None:
    return variant.price_rec_cents if variant.special_rec_cents is None else variant.special_rec_cents


def _med(variant: Variant) -> int | None:
    return variant.price_med_cents if variant.special_med_cents is None else variant.special_med_cents


def _lowest(prices: Iterable[int | None]) -> int | None:
    return min((price for price in prices if price is not None), default=None)


def _weight_at(price: int | None, product: Product) -> Weight | None:
    priced = [variant for variant in product.variants if price is not None and price in {_rec(variant), _med(variant)}]
    return next((variant.weight for variant in priced or product.variants), None)
