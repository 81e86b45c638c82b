"""The changes between two menus, by product and option."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from storecrawl.catalog.normalize import Menu, Product, Variant

PRICE_FIELDS: Final = ("price_rec_cents", "price_med_cents", "special_rec_cents", "special_med_cents")
STOCK_FIELDS: Final = ("in_stock", "quantity")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductChange:
    """A product that only one of the menus has."""

    external_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A changed figure of one option; None means absent, prices are in cents."""

    external_id: str
    name: str
    option: str
    field: str
    before: int | bool | None
    after: int | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuDiff:
    """All changes, ordered by external id."""

    added: tuple[ProductChange, ...]
    removed: tuple[ProductChange, ...]
    price_changes: tuple[FieldChange, ...]
    stock_changes: tuple[FieldChange, ...]


def diff_payloads(menu_a: Menu, menu_b: Menu) -> MenuDiff:
    """Return the changes from `menu_a` to `menu_b`. Names are never compared, since they are not unique."""
    before = {product.external_id: product for product in menu_a.products}
    after = {product.external_id: product for product in menu_b.products}
    common_products = [(before[key], after[key]) for key in sorted(before.keys() & after.keys())]
    return MenuDiff(
        added=tuple(_product(after[key]) for key in sorted(after.keys() - before.keys())),
        removed=tuple(_product(before[key]) for key in sorted(before.keys() - after.keys())),
        price_changes=tuple(change for pair in common_products for change in _changes(*pair, PRICE_FIELDS)),
        stock_changes=tuple(change for pair in common_products for change in _changes(*pair, STOCK_FIELDS)),
    )


def _product(product: Product) -> ProductChange:
    return ProductChange(external_id=product.external_id, name=product.name)


def _changes(before: Product, after: Product, fields: tuple[str, ...]) -> Iterator[FieldChange]:
    earlier = {variant.option: variant for variant in before.variants}
    later = {variant.option: variant for variant in after.variants}
    for option in sorted(earlier.keys() | later.keys()):
        for field in fields:
            old, new = _figure(earlier.get(option), field), _figure(later.get(option), field)
            if old != new:
                yield FieldChange(
                    external_id=after.external_id,
                    name=after.name,
                    option=option,
                    field=field,
                    before=old,
                    after=new,
                )


def _figure(variant: Variant | None, field: str) -> int | bool | None:
    return None if variant is None else getattr(variant, field)
