"""A store's whole menu as fetched: every page as it came, and the products of both modes merged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from storecrawl.upstream.options import MenuMode
from storecrawl.upstream.pages import Product, Walk

PRICE_FIELDS = ("Prices", "recPrices", "medicalPrices")
PARALLEL_FIELDS = frozenset(
    {
        *PRICE_FIELDS,
        "Options",
        "recSpecialPrices",
        "medicalSpecialPrices",
        "wholesalePrices",
        "manualInventory",
        "optionsBelowThreshold",
        "optionsBelowKioskThreshold",
    }
)
"""Lists that stand beside Options: of two documents of a product, all of them come from the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawMenu:
    """A menu before any normalization.

    `pages` are the bodies of all pages in the order fetched; `total_count` is what the upstream counts in its
    widest mode. A menu that is not `is_complete` lacks products that the upstream counts: what is missing
    from it must not be taken for vanished.
    """

    dispensary_id: str
    pricing_type: str
    page_size: int
    walks: dict[MenuMode, Walk]
    products: list[Product]

    @property
    def pages(self) -> tuple[bytes, ...]:
        """Return the body of every page fetched."""
        return tuple(page.body for walk in self.walks.values() for page in walk.pages)

    @property
    def page_count(self) -> int:
        """Return how many pages were fetched."""
        return sum(len(walk.pages) for walk in self.walks.values())

    @property
    def total_count(self) -> int:
        """Return how many products the upstream counts."""
        return max(walk.total_count for walk in self.walks.values())

    @property
    def is_complete(self) -> bool:
        """Say whether every mode brought as many products as the upstream counts in it."""
        return all(walk.is_complete for walk in self.walks.values())

    def document(self) -> dict[str, Any]:
        """Return one document in the shape of the upstream's answer, with how it was fetched beside it."""
        info = {"totalCount": self.total_count, "totalPages": math.ceil(self.total_count / self.page_size)}
        return {
            "data": {"filteredProducts": {"products": self.products, "queryInfo": info}},
            "fetched": {
                "dispensaryId": self.dispensary_id,
                "pricingType": self.pricing_type,
                "complete": self.is_complete,
                "products": len(self.products),
                "pages": self.page_count,
                "modes": {mode.value: _told(walk) for mode, walk in self.walks.items()},
            },
        }


def merged(walks: dict[MenuMode, Walk]) -> list[Product]:
    """Return the products of all modes, each once; the order is that of the first mode that shows them."""
    products: dict[str, Product] = {}
    for walk in walks.values():
        for key, product in walk.products.items():
            products[key] = merge_documents(products[key], product) if key in products else product
    return list(products.values())


def merge_documents(first: Product, second: Product) -> Product:
    """Merge two documents of one product: the one with more priced options, completed by the other."""
    if first == second:
        return first
    richer, other = (second, first) if _priced_options(second) > _priced_options(first) else (first, second)
    missing = {
        name: value
        for name, value in other.items()
        if name not in PARALLEL_FIELDS and richer.get(name) is None and value is not None
    }
    return richer | missing


def _priced_options(product: Product) -> int:
    options = product.get("Options")
    prices = next((product[name] for name in PRICE_FIELDS if product.get(name)), None)
    if not isinstance(options, list) or not isinstance(prices, list):
        return 0
    return min(len(options), len(prices))


def _told(walk: Walk) -> dict[str, int]:
    return {"totalCount": walk.total_count, "products": len(walk.products), "pages": len(walk.pages)}
