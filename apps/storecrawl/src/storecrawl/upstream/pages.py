"""Pages of a menu: read and checked one by one, and walked to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from storecrawl.upstream.errors import SchemaDrift
from storecrawl.upstream.merging import Product, merge_documents
from storecrawl.upstream.operations import PRODUCTS
from storecrawl.upstream.options import ClientOptions
from storecrawl.upstream.retry import RetryRule

EXPECTED_FIELDS = (
    ("_id", "id"),
    ("Name",),
    ("Options",),
    ("Prices", "recPrices", "medicalPrices"),
    ("Status",),
    ("type",),
)
"""One of each group stands on every product that is known; a group that a whole page lacks is a drift."""


class PageInfo(msgspec.Struct, rename="camel"):
    """What a page says of the whole list."""

    total_count: int
    total_pages: int


class PageBody(msgspec.Struct, rename="camel"):
    """The root value of a page."""

    products: list[Product]
    query_info: PageInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as fetched; `body` is the reply's body, byte by byte."""

    body: bytes
    products: list[Product]
    total_count: int
    total_pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """All pages of a list; `products` holds each product once. Short if the upstream counts more.

    `total_count` is the most that any page told of: one that counts fewer than those before it may be the cut one.
    """

    pages: tuple[Page, ...]
    products: dict[str, Product]
    total_count: int

    @property
    def is_complete(self) -> bool:
        """Say whether as many products were collected as the upstream counts."""
        return len(self.products) >= self.total_count

    def and_again(self, later: Walk) -> Walk:
        """Return both walks as one; what the later one saw counts more than what the earlier one saw."""
        return Walk(
            pages=self.pages + later.pages,
            products=with_later(self.products, later.products),
            total_count=later.total_count,
        )


FetchPage = Callable[[int], Awaitable[Page]]


def page_of(body: bytes, root: Any) -> Page:
    """Read a page. Raises SchemaDrift if it is not in the shape that is known."""
    try:
        read = msgspec.convert(root, PageBody)
    except msgspec.ValidationError as error:
        raise SchemaDrift(PRODUCTS.name, str(error)) from error
    for names in EXPECTED_FIELDS:
        if read.products and not any(name in product for product in read.products for name in names):
            raise SchemaDrift(PRODUCTS.name, f"no product has a field {' or '.join(map(repr, names))}")
    info = read.query_info
    return Page(body=body, products=read.products, total_count=info.total_count, total_pages=info.total_pages)


async def walk_twice_if_short(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> Walk:
    """Walk a list to its end, and once more if products slipped between its pages (SPEC C2-7)."""
    walk = await walk_pages(fetch, options, rule)
    if walk.is_complete or len(walk.pages) >= options.page_cap:
        return walk
    return walk.and_again(await walk_pages(fetch, options, rule))


async def walk_pages(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> Walk:
    """Fetch pages from 0 on until one is the last, one is empty, all are collected, or the cap is hit."""
    pages = [await _first_page(fetch, options, rule)]
    products = keyed(pages[0].products, 0)
    while _goes_on(pages, len(products), options):
        await asyncio.sleep(options.page_pause)
        pages.append(await fetch(len(pages)))
        products = with_later(products, keyed(pages[-1].products, len(pages) - 1))
    return Walk(pages=tuple(pages), products=products, total_count=max(page.total_count for page in pages))


def with_later(products: dict[str, Product], later: dict[str, Product]) -> dict[str, Product]:
    """Return the products with later documents of them merged in; what is null there takes nothing back."""
    return products | {key: merge_documents(product, products.get(key, product)) for key, product in later.items()}


def keyed(products: list[Product], page: int) -> dict[str, Product]:
    """Return products by `_id`, `id` or `cName`; one without any is kept for whoever judges products."""
    return {_key(product, f"{page}/{number}"): product for number, product in enumerate(products)}


def _key(product: Product, place: str) -> str:
    key = product.get("_id") or product.get("id") or product.get("cName")
    return str(key) if key else f"no key, {place}"


def _goes_on(pages: list[Page], collected: int, options: ClientOptions) -> bool:
    last = pages[-1]
    return bool(last.products) and len(pages) < min(last.total_pages, options.page_cap) and collected < last.total_count


async def _first_page(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> Page:
    # Upstreams race with themselves: an empty first page of a store that has products is known (SPEC C1-7).
    page = await fetch(0)
    for failures_before in range(options.retries):
        if page.products:
            break
        await asyncio.sleep(rule.pause(failures_before))
        page = await fetch(0)
    return page
