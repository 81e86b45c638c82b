"""A fetched menu: every response unchanged, and the merged products of all price lists and modes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from storecrawl.platforms.dutchie.options import MenuMode
from storecrawl.platforms.dutchie.pages import ProductDocument, Walk, key_of, merge_documents, page_in
from storecrawl.platforms.dutchie.replies import HashUnknown
from storecrawl.platforms.errors import Truncated, UpstreamFailure
from storecrawl.platforms.raw_pages import RawPage

SMALLEST_SHARE = 0.5
SMALLEST_JUDGED = 20


class Kind(NamedTuple):
    """The kind of a walk: a price list ("rec" or "med") in a mode."""

    pricing_type: str
    mode: MenuMode

    @property
    def part(self) -> str:
        """The name of this walk in raw pages and digests."""
        return f"{self.pricing_type} {self.mode}"

    @classmethod
    def of(cls, part: str) -> Kind:
        pricing_type, mode = part.split(" ")
        return cls(pricing_type, MenuMode(mode))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedMenu:
    """A menu before normalization: the result of each walk, and all products merged.

    `total_count` is the upstream's count of its widest list, or None. A menu that is not `is_complete`
    lacks products that the upstream counts; they must not be considered gone. `digests` identify the
    responses and are empty if the responses cannot be predicted.
    """

    dispensary_id: str
    page_size: int
    walks: Mapping[Kind, Walk]
    products: Sequence[ProductDocument]
    digests: Sequence[str] = ()

    @classmethod
    def of(cls, dispensary_id: str, page_size: int, walks: Mapping[Kind, Walk]) -> FetchedMenu:
        return cls(dispensary_id=dispensary_id, page_size=page_size, walks=walks, products=merge_walks(walks))

    @property
    def product_count(self) -> int:
        return len(self.products)

    @property
    def page_count(self) -> int:
        return sum(len(walk.pages) for walk in self.walks.values())

    @property
    def total_count(self) -> int | None:
        counted = [walk.total_count for walk in self.walks.values() if walk.total_count is not None]
        return max(counted, default=None)

    @property
    def unread(self) -> list[dict[str, Any]]:
        """Unreadable products, each once, at the first place where it occurred."""
        known = {key_of(product) for product in self.products}
        found: dict[object, dict[str, Any]] = {}
        for kind, walk in self.walks.items():
            for number, page in enumerate(walk.pages):
                for each in page.unread:
                    place = f"page {number} of {kind.pricing_type}, {kind.mode}, member {each.index}"
                    record = {"externalId": each.key, "reason": each.reason, "place": place}
                    found.setdefault(each.key or (each.reason, number, each.index), record)
        return [
            record for record in found.values() if record["externalId"] is None or record["externalId"] not in known
        ]

    @property
    def is_complete(self) -> bool:
        """Whether every walk found as many products as the upstream counts in it."""
        return all(walk.is_complete for walk in self.walks.values()) and not any(self._cut_lists())

    def _cut_lists(self) -> Iterator[str]:
        """Return the cut lists: a mode that hides nothing cannot have fewer products than one that hides some."""
        for kind, shown in self.walks.items():
            full = self.walks.get(Kind(kind.pricing_type, MenuMode.FULL))
            if kind.mode is MenuMode.SHOWN and full is not None and full.product_count < shown.product_count:
                yield kind.pricing_type

    def refuse_if_truncated(self) -> None:
        """Raise Truncated if less than half of the products that the upstream counts were served."""
        served, counted = len(self.products) + len(self.unread), self.total_count or 0
        if counted >= SMALLEST_JUDGED and served < counted * SMALLEST_SHARE:
            raise Truncated(served, counted)

    def document(self) -> dict[str, Any]:
        """Return one document in the form of the upstream's response, with a report about the fetch.

        `fetched` has the result of each walk, the products that it `lacks`, and the reason for each unreadable
        product.
        """
        total = self.total_count
        pages = None if total is None else math.ceil(total / self.page_size)
        return {
            "data": {
                "filteredProducts": {
                    "products": self.products,
                    "queryInfo": {"totalCount": total, "totalPages": pages},
                }
            },
            "fetched": {
                "dispensaryId": self.dispensary_id,
                "complete": self.is_complete,
                "products": len(self.products),
                "pages": self.page_count,
                "walks": list(self._walk_summaries()),
                "refused": self.unread,
            },
        }

    def _walk_summaries(self) -> Iterator[dict[str, Any]]:
        everything = dict.fromkeys(key for walk in self.walks.values() for key in walk.products)
        for kind, walk in self.walks.items():
            yield {
                "pricingType": kind.pricing_type,
                "mode": kind.mode,
                "totalCount": walk.total_count,
                "products": len(walk.products),
                "pages": len(walk.pages),
                "lacks": [key for key in everything if key not in walk.products],
            }


def menu_of(dispensary_id: str, page_size: int, answers: Iterable[RawPage]) -> FetchedMenu:
    """Rebuild the menu from its stored responses.

    Responses that were rejected and fetched again are left out.
    """
    walks: dict[Kind, Walk] = {}
    for answer in answers:
        kind = Kind.of(answer.part)
        with suppress(UpstreamFailure, HashUnknown):
            walks[kind] = walks.get(kind, Walk.of([])).add(page_in(answer.reply, answer.number))
    return FetchedMenu.of(dispensary_id, page_size, walks)


def merge_walks(walks: Mapping[Kind, Walk]) -> list[ProductDocument]:
    """Return the products of all walks, each once, in the order of the first walk with them.

    Of two documents of a product, the one with more priced options counts, otherwise that of the first
    walk.
    """
    products: dict[str, ProductDocument] = {}
    for walk in walks.values():
        for key, product in walk.products.items():
            products[key] = merge_documents(products[key], product) if key in products else product
    return list(products.values())
