"""A store's whole menu as fetched: every page as it came, and the products of both modes merged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from storecrawl.upstream.errors import Truncated
from storecrawl.upstream.merging import Product, merge_documents
from storecrawl.upstream.options import MenuMode
from storecrawl.upstream.pages import Walk

SMALLEST_SHARE = 0.5
SMALLEST_JUDGED = 20


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
        """Say whether every mode brought as many products as the upstream counts in it, the widest the most."""
        return all(walk.is_complete for walk in self.walks.values()) and not self._is_full_mode_cut

    @property
    def _is_full_mode_cut(self) -> bool:
        """A mode that hides nothing cannot have fewer products than the one that hides some."""
        shown, full = self.walks.get(MenuMode.SHOWN), self.walks.get(MenuMode.FULL)
        return shown is not None and full is not None and len(full.products) < len(shown.products)

    def refuse_if_truncated(self) -> None:
        """Raise Truncated if less than half of what the upstream counts was served (SPEC C5-9)."""
        served, counted = len(self.products), self.total_count
        if counted >= SMALLEST_JUDGED and served < counted * SMALLEST_SHARE:
            raise Truncated(served, counted)

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
    """Return the products of all modes, each once; the order is that of the first mode that shows them (SPEC C2-8).

    Of two documents of a product the one with more options that have a price counts, else that of the first mode.
    """
    products: dict[str, Product] = {}
    for walk in walks.values():
        for key, product in walk.products.items():
            products[key] = merge_documents(products[key], product) if key in products else product
    return list(products.values())


def _told(walk: Walk) -> dict[str, int]:
    return {"totalCount": walk.total_count, "products": len(walk.products), "pages": len(walk.pages)}
