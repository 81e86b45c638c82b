"""Pages of a menu: read and checked one by one, walked to the end, and documents of one product merged."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from storecrawl.platforms.dutchie.operations import PRODUCTS
from storecrawl.platforms.dutchie.options import ClientOptions
from storecrawl.platforms.dutchie.replies import root_of, root_without_bad_members
from storecrawl.platforms.errors import Malformed, SchemaDrift
from storecrawl.platforms.exchange import Reply
from storecrawl.platforms.retry import RetryRule
from storecrawl.platforms.untrusted_json import Unread

MEMBERS = "products"
EXPECTED_FIELDS = (
    ("_id", "id"),
    ("Name",),
    ("Options",),
    ("Prices", "recPrices", "medicalPrices"),
    ("Status",),
    ("type",),
)
"""Every known product has a field of each group. If a whole page lacks a group, the schema has changed."""
LARGEST_COUNT = 2**31
ProductDocument = Any
"""A member of a list of products, normally an object."""
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
"""Lists parallel to Options: of two documents of a product, all of them are taken from the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """A parsed page; `products` are the readable members of its list, `unread` the others.

    The upstream's count is None if it is not a number.
    """

    number: int = 0
    products: Sequence[ProductDocument]
    unread: Sequence[Unread] = ()
    total_count: int | None
    total_pages: int | None

    @property
    def is_empty(self) -> bool:
        return not (self.products or self.unread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """All pages of a list; `products` has each product once. It is incomplete if the upstream counts more.

    `total_count` is the highest count since the last page 0, since a page with a lower one may be cut.
    """

    pages: tuple[ListPage, ...]
    products: dict[str, ProductDocument]
    total_count: int | None

    @classmethod
    def of(cls, pages: Iterable[ListPage]) -> Walk:
        """Combine pages in the order in which they were received; a later page 0 restarts the count."""
        walk = cls(pages=(), products={}, total_count=None)
        for page in pages:
            walk = walk.add(page)
        return walk

    @property
    def unread(self) -> list[Unread]:
        return [each for page in self.pages for each in page.unread]

    @property
    def product_count(self) -> int:
        """The number of products on the pages, including unreadable ones."""
        return len(self.products) + len({(each.key, each.index) for each in self.unread})

    @property
    def is_complete(self) -> bool:
        """Whether as many products were collected as the upstream counts; False if it does not count them."""
        return self.total_count is not None and self.product_count >= self.total_count

    def add(self, page: ListPage) -> Walk:
        """Return the walk with one more page, whose documents take precedence over earlier ones.

        An empty page that was fetched again is not counted.
        """
        is_again = page.number == 0 and self.pages and self.pages[-1].number == 0 and self.pages[-1].is_empty
        return Walk(
            pages=(*(self.pages[:-1] if is_again else self.pages), page),
            products=merge_later(self.products, products_by_key(page.products)),
            total_count=page.total_count if page.number == 0 else _maximum(self.total_count, page.total_count),
        )


FetchPage = Callable[[int], Awaitable[ListPage]]


def page_in(reply: Reply, number: int) -> ListPage:
    """Parse a page without its unreadable members. Raises errors of the tree, and HashUnknown."""
    try:
        return page_of(root_of(reply, PRODUCTS), number)
    except Malformed:
        root, unread = root_without_bad_members(reply, PRODUCTS, MEMBERS)
        return page_of(root, number, unread)


def page_of(root: Any, number: int = 0, unread: Sequence[Unread] = ()) -> ListPage:
    """Parse a page. Raises SchemaDrift if its structure is unknown. Members are not checked."""
    products, info = (root.get(MEMBERS), root.get("queryInfo")) if isinstance(root, dict) else (None, None)
    if not isinstance(products, list):
        raise SchemaDrift(PRODUCTS.name, f"{PRODUCTS.root!r} has no list of products")
    if not isinstance(info, dict) or not info.keys() & {"totalCount", "totalPages"}:
        raise SchemaDrift(PRODUCTS.name, f"{PRODUCTS.root!r} does not have the number of products")
    objects = [product for product in products if isinstance(product, dict)]
    for names in EXPECTED_FIELDS:
        if objects and not any(name in product for product in objects for name in names):
            raise SchemaDrift(PRODUCTS.name, f"no product has a field {' or '.join(map(repr, names))}")
    return ListPage(
        number=number,
        products=products,
        unread=unread,
        total_count=_count(info.get("totalCount")),
        total_pages=_count(info.get("totalPages")),
    )


async def walk_twice_if_short(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> Walk:
    """Walk a list to its end, and a second time if it moved between two pages and products were missed."""
    walk = await walk_pages(fetch, options, rule)
    if walk.is_complete or walk.total_count is None or len(walk.pages) >= options.page_cap:
        return walk
    return Walk.of(walk.pages + (await walk_pages(fetch, options, rule)).pages)


async def walk_pages(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> Walk:
    """Fetch pages from 0 on until all products are there, the cap is reached, or a page adds nothing."""
    walk, before = Walk.of([await _first_page(fetch, options, rule)]), 0
    while _has_next_page(walk, before, options):
        before = walk.product_count
        walk = walk.add(await fetch(len(walk.pages)))
    return walk


def merge_later(products: dict[str, ProductDocument], later: dict[str, ProductDocument]) -> dict[str, ProductDocument]:
    """Return the products with later documents merged in; a null in those does not overwrite a value."""
    return products | {key: merge_documents(product, products.get(key, product)) for key, product in later.items()}


def products_by_key(products: Sequence[ProductDocument]) -> dict[str, ProductDocument]:
    """Return products by `_id`, `id` or `cName`. Products without a key are kept for the normalizer."""
    seen: Counter[str] = Counter()
    found = {}
    for product in products:
        key = key_of(product)
        if key is None:
            # A product without a key that occurs in two pages or modes is one product; twice in one page, it is two.
            content = hashlib.blake2b(msgspec.json.encode(product), digest_size=8).hexdigest()
            key = f"no key, {content}, {seen[content]}"
            seen[content] += 1
        found[key] = product
    return found


def key_of(product: ProductDocument) -> str | None:
    """Return the upstream's key of a product, or None."""
    if not isinstance(product, dict):
        return None
    key = product.get("_id") or product.get("id") or product.get("cName")
    return str(key) if key else None


def _count(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < LARGEST_COUNT else None  # type: ignore[operator,return-value]  # it is one


def _maximum(one: int | None, other: int | None) -> int | None:
    return max((count for count in (one, other) if count is not None), default=None)


def _has_next_page(walk: Walk, before: int, options: ClientOptions) -> bool:
    last = walk.pages[-1]
    if last.is_empty or len(walk.pages) >= options.page_cap:
        return False
    if last.total_pages is not None and len(walk.pages) >= last.total_pages:
        return False
    if last.total_count is None:
        # There is no count: an upstream that repeats its last page must not be fetched forever.
        return walk.product_count > before
    return walk.product_count < last.total_count


async def _first_page(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> ListPage:
    # Upstreams have races: the first page of a store with products is sometimes empty.
    page = await fetch(0)
    for failures_before in range(options.retries):
        if not page.is_empty:
            break
        await asyncio.sleep(rule.pause(failures_before))
        page = await fetch(0)
    return page


def merge_documents(first: ProductDocument, second: ProductDocument) -> ProductDocument:
    """Merge two documents of a product: that with more priced options, or the first, completed by the other."""
    if first == second or not (isinstance(first, dict) and isinstance(second, dict)):
        return first
    richer, other = (second, first) if _priced_options(second) > _priced_options(first) else (first, second)
    missing = {
        name: value
        for name, value in other.items()
        if name not in PARALLEL_FIELDS and richer.get(name) is None and value is not None
    }
    return richer | missing


def _priced_options(product: ProductDocument) -> int:
    options = product.get("Options")
    prices = next((product[name] for name in PRICE_FIELDS if product.get(name)), None)
    if not isinstance(options, list) or not isinstance(prices, list):
        return 0
    return min(len(options), len(prices))
