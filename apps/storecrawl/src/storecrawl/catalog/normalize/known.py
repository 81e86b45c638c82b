"""How many values of a menu are known, by field. A field that the source has renamed is suddenly known of nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from storecrawl.catalog.normalize.menu import Menu

DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValues:
    """The number of records, products or options of a menu with a value, and of those that could have one."""

    known: int
    possible: int

    @property
    def share(self) -> float:
        return round(self.known / self.possible, DIGITS)


def known_values(menu: Menu) -> dict[str, KnownValues]:
    """Count the known values of ten fields; fields that no product or option could have are left out.

    Prices and quantities belong to options, names to records of the document. The others belong to products,
    specials only to products that do not say that they have none. The potency is that of THC: CBD, which many products
    have as well, would hide its loss.
    """
    products, variants = menu.products, [variant for product in menu.products for variant in product.variants]
    on_special = [product for product in products if product.expects_special]
    counted = {
        "price": _count(variant.price_rec_cents or variant.price_med_cents for variant in variants),
        "quantity": _count(variant.quantity is not None for variant in variants),
        "special": _count(any(variant.on_special for variant in product.variants) for product in on_special),
        "potency": _count(product.thc for product in products),
        "brand": _count(product.brand for product in products),
        "category": _count(product.category for product in products),
        "strain": _count(product.strain_type for product in products),
        "image": _count(product.image_url for product in products),
        "options": _count(product.variants for product in products),
        "name": KnownValues(known=len(products), possible=menu.record_count - menu.duplicates),
    }
    return {field: values for field, values in counted.items() if values.possible > 0}


def shares_of(known: Mapping[str, KnownValues]) -> dict[str, float]:
    """Return the share of known values of each field, as it is stored with a payload."""
    return {field: values.share for field, values in known.items()}


def _count(values: Iterable[object]) -> KnownValues:
    facts = [bool(value) for value in values]
    return KnownValues(known=sum(facts), possible=len(facts))
