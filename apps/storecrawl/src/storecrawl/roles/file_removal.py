"""Remove files of payloads and raw menus that no row needs, without losing one that is used at the same time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from storecrawl.catalog.stored_files import lock_files, needed_files, not_needed
from storecrawl.roles.crawler import Crawler

Connection = psycopg.AsyncConnection[Any]


@asynccontextmanager
async def removal(tx: Connection, crawler: Crawler, store_id: int) -> AsyncIterator[None]:
    """Give up rows of a store in the block; then remove the files that only those rows needed.

    A fetch that uses one of the files waits with its row for the end of the transaction, and writes the file again.
    If the transaction fails after the removal, the rows still need the missing files: giving them up again works.
    """
    await lock_files(tx, store_id)
    before = await needed_files(tx, [store_id])
    yield
    given_up = before - await needed_files(tx, [store_id])
    await crawler.run_in_thread(crawler.payloads.remove, sorted(given_up))


async def remove_orphans(tx: Connection, crawler: Crawler, store_id: int | None, paths: Sequence[str]) -> int:
    """Remove files of a store, or of none, unless a row needs them by now; return their number."""
    if store_id is not None:
        await lock_files(tx, store_id)
    orphans = await not_needed(tx, paths)
    await crawler.run_in_thread(crawler.payloads.remove, orphans)
    return len(orphans)
