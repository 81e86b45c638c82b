"""Recompute a store's products, options and history from its payload files, and compare them with the stored rows.

The recomputation shares the normalizer with the code that writes rows, and nothing else: it follows the menus in the
order of their fetches, and reads the history through the views. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from storecrawl.catalog.comparison import Comparison, ReadMenu
from storecrawl.catalog.expected import expected_history, expected_options, expected_product
from storecrawl.catalog.normalize import Availability, Menu, NotAMenu, Product
from storecrawl.catalog.payloads import StoredPayload, applied_payloads
from storecrawl.catalog.stored_rows import (
    HISTORY,
    OPTION_HISTORY,
    OPTIONS,
    PAYLOADS,
    PRODUCTS,
    Key,
    Rows,
    Values,
    compare,
    stored_history,
    stored_options,
    stored_payloads,
    stored_products,
)
from storecrawl.catalog.stores import find_store
from storecrawl.payloads import PayloadError, PayloadUnreachable
from storecrawl.statements import Connection

UNLISTED = {"listed": False, "in_stock": False}
PRICES = ("price_rec_cents", "price_med_cents", "special_rec_cents", "special_med_cents")


@dataclass(slots=True, kw_only=True)
class _Shown:
    """The newest state of a product, as the menus read so far show it."""

    product: Product
    payload_id: int
    misses: int = 0
    is_removed: bool = False
    is_forgotten: bool = False

    def miss(self, threshold: int) -> None:
        self.misses = min(self.misses + 1, threshold)
        self.is_removed = self.misses >= threshold

    def see_refused(self) -> None:
        self.is_forgotten = self.is_forgotten or self.is_removed
        self.misses, self.is_removed = 0, False


@dataclass(slots=True)
class _Prices:
    """The price changes of an option, counted from the history."""

    last: tuple[object, ...]
    changes: int = 0
    changed_at: datetime | None = None


async def verify_store(connection: Connection, read: ReadMenu, store_id: int, miss_threshold: int) -> Comparison:
    """Compare a store's rows with its payload files. Expired files are named; their products are left out.

    The caller's transaction must read one snapshot of the database. Raises UnknownStore, and PayloadUnreachable if the
    storage is away.
    """
    store = _Store(connection, store_id, miss_threshold)
    figures = await stored_payloads(connection, store_id)
    for payload in await applied_payloads(connection, store_id):
        await store.follow(payload, read, figures[payload.id])
    await store.compare_rows()
    return store.found


class _Store:
    def __init__(self, connection: Connection, store_id: int, threshold: int) -> None:
        self.found = Comparison(stores=1)
        self._connection = connection
        self._id = store_id
        self._threshold = threshold
        self._shown: dict[str, _Shown] = {}
        self._prices: dict[Key, _Prices] = {}
        self._newest: int | None = None

    async def follow(self, payload: StoredPayload, read: ReadMenu, figures: Values) -> None:
        """Compare the history of a payload, and note what its menu shows."""
        products, options = await stored_history(self._connection, payload.id)
        self._count_price_changes(payload, options)
        self._newest = payload.id
        try:
            menu = await read(payload)
        except PayloadUnreachable:
            raise
        except (PayloadError, NotAMenu) as problem:
            self.found.skip(payload, problem)
            self._shown.clear()  # it may have shown any of them
            return
        self.found.payloads += 1
        expected, expected_options = expected_history(menu)
        self._compare(HISTORY, products, expected, payload.id)
        self._compare(OPTION_HISTORY, options, expected_options, payload.id)
        self._compare(PAYLOADS, {(): figures}, {(): _figures(menu)}, payload.id)
        self._show(menu, payload.id)

    async def compare_rows(self) -> None:
        """Compare the store's products and options with the newest menus that show them."""
        is_dark = (await find_store(self._connection, self._id)).dark_since is not None
        products = await stored_products(self._connection, self._id)
        options = await stored_options(self._connection, self._id)
        if self.found.unread:  # only what a file shows can be compared
            products = {key: row for key, row in products.items() if key[0] in self._shown}
            options = {key: row for key, row in options.items() if key[0] in self._shown}
        expected: Rows = {}
        expected_of_options: Rows = {}
        for external_id, shown in self._shown.items():
            row = products.get((external_id,), {})
            forgotten = is_dark or (self._may_be_forgotten(shown) and row.get("availability") == Availability.UNKNOWN)
            expected[external_id,] = _product_row(shown, forgotten=forgotten)
            for key, values in self._option_rows(shown, options, forgotten=forgotten):
                expected_of_options[key] = values
        self._compare(PRODUCTS, products, expected)
        self._compare(OPTIONS, options, expected_of_options)

    def _compare(self, table: str, stored: Rows, expected: Rows, payload_id: int | None = None) -> None:
        self.found.differences.add(compare(table, self._id, stored, expected, payload_id))

    def _show(self, menu: Menu, payload_id: int) -> None:
        present = {product.external_id: _Shown(product=product, payload_id=payload_id) for product in menu.products}
        refused = {refusal.external_id for refusal in menu.refused if refusal.option is None}
        for external_id, shown in self._shown.items():
            if external_id in refused:
                shown.see_refused()
            elif external_id not in present and menu.complete:
                shown.miss(self._threshold)
        self._shown |= present

    def _may_be_forgotten(self, shown: _Shown) -> bool:
        """Whether a dark period can have forgotten the stock since the product was seen."""
        return shown.payload_id != self._newest and not shown.is_removed

    def _count_price_changes(self, payload: StoredPayload, options: Rows) -> None:
        for key, row in options.items():
            prices = tuple(row[name] for name in PRICES)
            known = self._prices.setdefault(key, _Prices(prices))
            if known.last != prices:
                known.last, known.changes, known.changed_at = prices, known.changes + 1, payload.fetched_at

    def _option_rows(self, shown: _Shown, stored: Rows, *, forgotten: bool) -> Iterator[tuple[Key, Values]]:
        external_id = shown.product.external_id
        current = expected_options(shown.product)
        former = {key for key in stored if key[0] == external_id and key not in current}
        for key in [*current, *sorted(former)]:
            counted = self._prices.get(key, _Prices(()))
            row = {**current.get(key, UNLISTED), "price_changes": counted.changes}
            row["price_changed_at"] = counted.changed_at
            is_out = forgotten or shown.is_removed or shown.is_forgotten
            if is_out:
                row["in_stock"] = False
            stock_lost = forgotten or shown.payload_id != self._newest
            if stock_lost and key in current and (stored.get(key) or {}).get("quantity") is None:
                row |= {"quantity": None, "quantity_capped": False}
            yield key, row


def _product_row(shown: _Shown, *, forgotten: bool) -> Values:
    row = {
        **expected_product(shown.product),
        "consecutive_misses": shown.misses,
    }
    if shown.is_removed:
        return {**row, "availability": Availability.REMOVED_FROM_MENU, "in_stock": False}
    if forgotten or shown.is_forgotten:
        return {**row, "availability": Availability.UNKNOWN, "in_stock": False}
    return row


def _figures(menu: Menu) -> Values:
    return {
        "complete": menu.complete,
        "applied_count": len(menu.products),
        "refused_products": menu.refused_count,
        "refused_options": len(menu.refused) - menu.refused_count,
    }
