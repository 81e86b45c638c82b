"""Pages of a menu: read and checked one by one, walked to the end, and two documents of one product made one."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from storecrawl.upstream.errors import Malformed, SchemaDrift
from storecrawl.upstream.exchange import Reply
from storecrawl.upstream.operations import PRODUCTS
from storecrawl.upstream.options import ClientOptions, RetryRule
from storecrawl.upstream.replies import root_of, root_without_bad_members
from storecrawl.upstream.strangers_json import Unread

MEMBERS = "products"
EXPECTED_FIELDS = (
    ("_id", "id"),
    ("Name",),
    ("Options",),
    ("Prices", "recPrices", "medicalPrices"),
    ("Status",),
    ("type",),
)
"""One of each group stands on every product that is known; a group that a whole page lacks is a drift."""
LARGEST_COUNT = 2**31
ProductDocument = Any
"""A member of a list of products: an object, if all is well."""
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
class ListPage:
    """A page as it was read; `products` are whatever members its list has, but those that are `unread`.

    What the upstream counts is None where it does not say it in a number.
    """

    number: int = 0
    products: Sequence[ProductDocument]
    unread: Sequence[Unread] = ()
    total_count: int | None
    total_pages: int | None

    @property
    def is_empty(self) -> bool:
        """Say whether it has no member at all."""
        return not (self.products or self.unread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """All pages of a list; `products` holds each product once. Short if the upstream counts more.

    `total_count` is the most that any page told of: one that counts fewer than those before it may be the cut one.
    """

    pages: tuple[ListPage, ...]
    products: dict[str, ProductDocument]
    total_count: int | None

    @classmethod
    def of(cls, pages: Iterable[ListPage]) -> Walk:
        """Put pages together in the order in which they came; those from the last page 0 on say how many there are."""
        walk = cls(pages=(), products={}, total_count=None)
        for page in pages:
            walk = walk.then(page)
        return walk

    @property
    def unread(self) -> list[Unread]:
        """Return what could not be read of any page."""
        return [each for page in self.pages for each in page.unread]

    @property
    def collected(self) -> int:
        """Return how many products the pages brought, those that cannot be read included."""
        return len(self.products) + len({(each.key, each.index) for each in self.unread})

    @property
    def is_complete(self) -> bool:
        """Say whether as many products were collected as the upstream counts; what it does not count may be short."""
        return self.total_count is not None and self.collected >= self.total_count

    def then(self, page: ListPage) -> Walk:
        """Return the walk with one page more; what that says counts more than what those before it said.

        One that was empty is not counted where it was asked for again.
        """
        is_again = page.number == 0 and self.pages and self.pages[-1].number == 0 and self.pages[-1].is_empty
        return Walk(
            pages=(*(self.pages[:-1] if is_again else self.pages), page),
            products=with_later(self.products, keyed(page.products)),
            total_count=page.total_count if page.number == 0 else _more(self.total_count, page.total_count),
        )


FetchPage = Callable[[int], Awaitable[ListPage]]


def page_in(reply: Reply, number: int) -> ListPage:
    """Read a page, without the members that cannot be read. Raises errors of the tree, and HashUnknown."""
    try:
        return page_of(root_of(reply, PRODUCTS), number)
    except Malformed:
        root, unread = root_without_bad_members(reply, PRODUCTS, MEMBERS)
        return page_of(root, number, unread)


def page_of(root: Any, number: int = 0, unread: Sequence[Unread] = ()) -> ListPage:
    """Read a page. Raises SchemaDrift if it is not in the shape that is known; what a member is, others judge."""
    products, info = (root.get(MEMBERS), root.get("queryInfo")) if isinstance(root, dict) else (None, None)
    if not isinstance(products, list):
        raise SchemaDrift(PRODUCTS.name, f"{PRODUCTS.root!r} holds no list of products")
    if not isinstance(info, dict) or not info.keys() & {"totalCount", "totalPages"}:
        raise SchemaDrift(PRODUCTS.name, f"{PRODUCTS.root!r} does not say how many products there are")
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
    """Walk a list to its end, and once more if products slipped between its pages."""
    walk = await walk_pages(fetch, options, rule)
    if walk.is_complete or walk.total_count is None or len(walk.pages) >= options.page_cap:
        return walk
    return Walk.of(walk.pages + (await walk_pages(fetch, options, rule)).pages)


async def walk_pages(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> Walk:
    """Fetch pages from 0 on until one is the last, is empty or brings nothing new, all are there, or the cap is hit."""
    walk, before = Walk.of([await _first_page(fetch, options, rule)]), 0
    while _goes_on(walk, before, options):
        before = walk.collected
        walk = walk.then(await fetch(len(walk.pages)))
    return walk


def with_later(products: dict[str, ProductDocument], later: dict[str, ProductDocument]) -> dict[str, ProductDocument]:
    """Return the products with later documents of them merged in; what is null there takes nothing back."""
    return products | {key: merge_documents(product, products.get(key, product)) for key, product in later.items()}


def keyed(products: Sequence[ProductDocument]) -> dict[str, ProductDocument]:
    """Return products by `_id`, `id` or `cName`; what has none is kept, for whoever judges products."""
    seen: Counter[str] = Counter()
    found = {}
    for product in products:
        key = key_of(product)
        if key is None:
            # The same in another page or mode is the same again; twice in one page, it stands there twice.
            content = hashlib.blake2b(msgspec.json.encode(product), digest_size=8).hexdigest()
            key = f"no key, {content}, {seen[content]}"
            seen[content] += 1
        found[key] = product
    return found


def key_of(product: ProductDocument) -> str | None:
    """Return what the upstream calls a product by; None for what has no key."""
    if not isinstance(product, dict):
        return None
    key = product.get("_id") or product.get("id") or product.get("cName")
    return str(key) if key else None


def _count(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < LARGEST_COUNT else None  # type: ignore[operator,return-value]  # it is one


def _more(one: int | None, other: int | None) -> int | None:
    return max((count for count in (one, other) if count is not None), default=None)


def _goes_on(walk: Walk, before: int, options: ClientOptions) -> bool:
    last = walk.pages[-1]
    if last.is_empty or len(walk.pages) >= options.page_cap:
        return False
    if last.total_pages is not None and len(walk.pages) >= last.total_pages:
        return False
    if last.total_count is None:
        # Nobody says where it ends: an upstream that shows its last page again and again must not be asked for ever.
        return walk.collected > before
    return walk.collected < last.total_count


async def _first_page(fetch: FetchPage, options: ClientOptions, rule: RetryRule) -> ListPage:
    # Upstreams race with themselves: an empty first page of a store that has products is known.
    page = await fetch(0)
    for failures_before in range(options.retries):
        if not page.is_empty:
            break
        await asyncio.sleep(rule.pause(failures_before))
        page = await fetch(0)
    return page


def merge_documents(first: ProductDocument, second: ProductDocument) -> ProductDocument:
    """Merge two documents of one product: the one with more priced options, else the first, completed by the other."""
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
