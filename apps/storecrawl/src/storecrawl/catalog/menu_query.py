"""Filter, sort and aggregate a menu as a flat list with one row per product."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from storecrawl.catalog.normalize import (
    Availability,
    Category,
    Details,
    Menu,
    Potency,
    PotencyUnit,
    Product,
    Variant,
    Weight,
)

THOUSANDTH: Final = Decimal("0.001")
# Divisors that convert a unit to percent of weight. Milligrams per piece or per milliliter cannot be converted.
TO_PERCENT: Final = {PotencyUnit.PERCENTAGE: Decimal(1), PotencyUnit.MILLIGRAMS_PER_GRAM: Decimal(10)}


class SortBy(StrEnum):
    """The field by which products are sorted."""

    NAME = "name"
    PRICE = "price"
    THC = "thc"
    BRAND = "brand"


class GroupBy(StrEnum):
    """The field by which products are grouped."""

    BRAND = "brand"
    CATEGORY = "category"


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuQuery:
    """Filters and the order of products; a filter that is None matches everything.

    Texts are compared case-insensitively; `search` matches name and brand. Prices are cents and compared with
    `price`. THC is percent of weight; a product matches if its range overlaps the requested one. Products without
    the figure match no bound and are sorted last in either order.
    """

    brand: str | None = None
    category: Category | None = None
    subcategory: str | None = None
    strain_type: str | None = None
    in_stock: bool | None = None
    price_min: int | None = None
    price_max: int | None = None
    thc_min: Decimal | None = None
    thc_max: Decimal | None = None
    search: str | None = None
    sort: SortBy = SortBy.NAME
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuGroup:
    """Totals of the products of one brand or category; `group` is None for products without one.

    Prices are cents, `avg_thc` is percent of weight; both only count products that have one.
    """

    group: str | None
    count: int
    avg_price: int | None
    min_price: int | None
    max_price: int | None
    avg_thc: Decimal | None
    in_stock_count: int


def select(rows: Sequence[MenuRow], query: MenuQuery) -> list[MenuRow]:
    """Return the matching rows in the requested order; ties are sorted by id."""
    tests = list(_tests(query))
    matches = sorted((row for row in rows if all(test(row) for test in tests)), key=lambda row: row.id)
    key = SORT_KEYS[query.sort]
    valued_rows = sorted((row for row in matches if key(row) is not None), key=key, reverse=query.descending)
    return valued_rows + [row for row in matches if key(row) is None]


def aggregate(rows: Sequence[MenuRow], group_by: GroupBy) -> list[MenuGroup]:
    """Return the groups of a menu, the largest first."""
    groups: dict[str | None, list[MenuRow]] = defaultdict(list)
    for row in rows:
        groups[row.brand if group_by is GroupBy.BRAND else row.category].append(row)
    menu_groups = [_group(name, members) for name, members in groups.items()]
    return sorted(menu_groups, key=lambda group: (-group.count, group.group is None, group.group or ""))


def _tests(query: MenuQuery) -> Iterator[Callable[[MenuRow], bool]]:
    for name in ("brand", "subcategory", "strain_type"):
        if (value := getattr(query, name)) is not None:
            yield _equals(name, value)
    if query.category is not None:
        yield lambda row: row.category is query.category
    if query.in_stock is not None:
        yield lambda row: row.in_stock is query.in_stock
    if query.search is not None:
        yield _contains(query.search)
    if (query.price_min, query.price_max) != (None, None):
        yield lambda row: _within((row.price, row.price), query.price_min, query.price_max)
    if (query.thc_min, query.thc_max) != (None, None):
        yield lambda row: _within(percent_of(row.thc) or (None, None), query.thc_min, query.thc_max)


def _equals(name: str, value: str) -> Callable[[MenuRow], bool]:
    folded = value.casefold()
    return lambda row: (getattr(row, name) or "").casefold() == folded


def _contains(text: str) -> Callable[[MenuRow], bool]:
    folded = text.casefold()
    return lambda row: folded in row.name.casefold() or folded in (row.brand or "").casefold()


def _within(figures: tuple[Any, Any], least: Any, most: Any) -> bool:
    low, high = figures
    return high is not None and (least is None or high >= least) and (most is None or low <= most)


def _thc(row: MenuRow) -> Decimal | None:
    percent = percent_of(row.thc)
    return percent and percent[1]


def _group(name: str | None, rows: Sequence[MenuRow]) -> MenuGroup:
    prices = [row.price for row in rows if row.price is not None]
    potencies = [(low + high) / 2 for low, high in filter(None, (percent_of(row.thc) for row in rows))]
    return MenuGroup(
        group=name,
        count=len(rows),
        avg_price=round(Decimal(sum(prices)) / len(prices)) if prices else None,
        min_price=min(prices, default=None),
        max_price=max(prices, default=None),
        avg_thc=(sum(potencies, Decimal()) / len(potencies)).quantize(THOUSANDTH) if potencies else None,
        in_stock_count=sum(row.in_stock for row in rows),
    )


SORT_KEYS: Final[dict[SortBy, Callable[[MenuRow], Any]]] = {
    SortBy.NAME: lambda row: row.name.casefold(),
    SortBy.BRAND: lambda row: None if row.brand is None else row.brand.casefold(),
    SortBy.PRICE: lambda row: row.price,
    SortBy.THC: _thc,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuRow:
    """One product of a menu; `id` is the platform's key.

    Prices are in cents: the lowest of the product's options, including specials. `price` is the recreational price,
    or the medical one if there is no other. `weight` or `dose_mg` is that of the option with this price.
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
    dose_mg: Decimal | None
    rec_only: bool | None
    medical_only: bool | None
    status: Availability
    in_stock: bool
    image_url: str | None
    description: str | None
    updated_at: datetime | None
    details: Details


def rows_of(menu: Menu) -> list[MenuRow]:
    """Return one row per product, in the menu's order."""
    return [_row(product) for product in menu.products]


def percent_of(potency: Potency | None) -> tuple[Decimal, Decimal] | None:
    """Return the lower and upper end of a potency in percent of weight; None if unknown or not convertible."""
    if potency is None or potency.unit is None or potency.unit not in TO_PERCENT:
        return None
    divisor = TO_PERCENT[potency.unit]
    return potency.lo / divisor, potency.hi / divisor


def _row(product: Product) -> MenuRow:
    rec = _lowest(_rec(variant) for variant in product.variants)
    med = _lowest(_medical_price(variant) for variant in product.variants)
    price = med if rec is None else rec
    option = _option_at(price, product)
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
        weight=option.weight if option else None,
        dose_mg=option.dose_mg if option else None,
        rec_only=product.rec_only,
        medical_only=product.medical_only,
        status=product.availability,
        in_stock=product.in_stock,
        image_url=product.image_url,
        description=product.description,
        updated_at=product.updated_at,
        details=product.details,
    )


def _rec(variant: Variant) -> int | None:
    return variant.price_rec_cents if variant.special_rec_cents is None else variant.special_rec_cents


def _medical_price(variant: Variant) -> int | None:
    return variant.price_med_cents if variant.special_med_cents is None else variant.special_med_cents


def _lowest(prices: Iterable[int | None]) -> int | None:
    return min((price for price in prices if price is not None), default=None)


def _option_at(price: int | None, product: Product) -> Variant | None:
    priced = [
        variant
        for variant in product.variants
        if price is not None and price in {_rec(variant), _medical_price(variant)}
    ]
    return next(iter(priced or product.variants), None)
