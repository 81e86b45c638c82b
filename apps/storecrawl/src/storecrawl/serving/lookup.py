"""Look up the objects that a request names; a missing one is a 404."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall.web import Connections
from storecrawl.catalog import RawMenu, Store, StoredPayload, find_payload, find_raw_menu, find_store, require_crawlable
from storecrawl.serving.refusals import catalog_errors_as_problems


async def store_of(connects: Connections, store_id: int) -> Store:
    """Return the store with this id. Raises RequestRefused."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            return await find_store(connection, store_id)


async def payload_of(connects: Connections, payload_id: int) -> StoredPayload:
    """Return the crawl payload with this id. Raises RequestRefused."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            return await find_payload(connection, payload_id)


async def raw_menu_of(connects: Connections, raw_menu_id: int) -> RawMenu:
    """Return the raw menu with this id. Raises RequestRefused."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            return await find_raw_menu(connection, raw_menu_id)


async def crawlable(connects: Connections, store_ids: Sequence[int]) -> Sequence[int]:
    """Return the stores if all of them may be crawled. Raises RequestRefused."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            await require_crawlable(connection, store_ids)
    return store_ids
