"""Read the stored payloads of a store again, and rewrite its products and history as they should be.

This corrects what an earlier version of the code has written. It is no change of the shop: the times and numbers of
changes are computed again. Nothing here commits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime

from storecrawl.catalog.comparison import Comparison, ReadMenu
from storecrawl.catalog.normalize import Menu, NotAMenu
from storecrawl.catalog.payloads import StoredPayload, applied_payloads
from storecrawl.catalog.refresh import DEFAULT_RULES, RefreshRules, apply_menu
from storecrawl.catalog.refresh_rows import content_hash
from storecrawl.catalog.sql import STORED_ROWS
from storecrawl.catalog.stored_rows import (
    HISTORY,
    OPTION_HISTORY,
    OPTIONS,
    PRODUCTS,
    compare,
    stored_history,
    stored_options,
    stored_products,
)
from storecrawl.payloads import PayloadError, PayloadUnreachable
from storecrawl.statements import Connection, execute

Progress = Callable[[int, int], Awaitable[None]]


async def renormalize_store(
    connection: Connection,
    read: ReadMenu,
    store_id: int,
    progress: Progress,
    *,
    since: datetime | None = None,
    rules: RefreshRules = DEFAULT_RULES,
) -> Comparison:
    """Apply a store's payloads again in the order of their fetches; return the differences from before.

    Only applied payloads are read, of all times or of fetches since a moment. `progress` is called with the number of
    payloads done and of all. Raises PayloadUnreachable if the storage is away; other unreadable payloads are skipped.
    """
    applied = await applied_payloads(connection, store_id)
    chosen = [payload for payload in applied if since is None or payload.fetched_at >= since]
    products, options = await stored_products(connection, store_id), await stored_options(connection, store_id)
    rewriting = _Rewriting(connection, read, store_id, rules, is_whole=len(chosen) == len(applied))
    if before := applied[: applied.index(chosen[0])] if chosen else []:
        await rewriting.begin_after(before[-1])
    for number, payload in enumerate(chosen):
        await progress(number, len(chosen))
        await rewriting.rewrite(payload)
    await rewriting.write_change_times()
    differences = rewriting.found.differences
    differences.add(compare(PRODUCTS, store_id, products, await stored_products(connection, store_id)))
    differences.add(compare(OPTIONS, store_id, options, await stored_options(connection, store_id)))
    return rewriting.found


class _Rewriting:
    """The rewriting of one store: what differs, and when each product has changed last."""

    def __init__(
        self, connection: Connection, read: ReadMenu, store_id: int, rules: RefreshRules, *, is_whole: bool
    ) -> None:
        self.found = Comparison(stores=1)
        self._connection = connection
        self._read = read
        self._store_id = store_id
        self._rules = rules
        # Whether a product without a hash is new. Otherwise, a payload that is not read may have had it.
        self._knows_all = is_whole
        self._hashes: dict[str, bytes] = {}
        self._changed: dict[str, datetime] = {}

    async def begin_after(self, payload: StoredPayload) -> None:
        """Compare the first payload with this earlier one, if it can be read."""
        with suppress(PayloadError, NotAMenu):
            menu = await self._read(payload)
            self._hashes = {product.external_id: content_hash(product) for product in menu.products}

    async def rewrite(self, payload: StoredPayload) -> None:
        menu = await self._menu(payload)
        if menu is None:
            self._hashes, self._knows_all = {}, False
            return
        products, options = await stored_history(self._connection, payload.id)
        await apply_menu(self._connection, payload.id, self._store_id, payload.fetched_at, menu, rules=self._rules)
        products_after, options_after = await stored_history(self._connection, payload.id)
        self.found.payloads += 1
        differences = self.found.differences
        differences.add(compare(HISTORY, self._store_id, products, products_after, payload.id))
        differences.add(compare(OPTION_HISTORY, self._store_id, options, options_after, payload.id))
        self._note_changes(menu, payload.fetched_at)

    async def write_change_times(self) -> None:
        times = {"external_ids": list(self._changed), "times": list(self._changed.values())}
        await execute(self._connection, STORED_ROWS.set_change_times, {"store_id": self._store_id, **times})

    async def _menu(self, payload: StoredPayload) -> Menu | None:
        try:
            return await self._read(payload)
        except PayloadUnreachable:
            raise
        except (PayloadError, NotAMenu) as problem:
            self.found.skip(payload, problem)
            return None

    def _note_changes(self, menu: Menu, fetched_at: datetime) -> None:
        for product in menu.products:
            earlier, new = self._hashes.get(product.external_id), content_hash(product)
            if earlier != new and (earlier is not None or self._knows_all):
                self._changed[product.external_id] = fetched_at
            self._hashes[product.external_id] = new
