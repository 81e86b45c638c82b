"""Files of payloads and raw menus by the rows that need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg.rows import scalar_row

from storecrawl.catalog.sql import PAYLOADS
from storecrawl.payloads import store_of_path
from storecrawl.statements import Connection, execute, fetch


async def lock_files(connection: Connection, store_id: int) -> None:
    """Lock a store's files until the transaction ends: rows that need them, and their removal, wait."""
    await execute(connection, PAYLOADS.lock_files, {"store_id": store_id})


async def needed_files(connection: Connection, stores: Iterable[int]) -> set[str]:
    """Return the paths of files without which a kept payload or raw menu of these stores cannot be read."""
    return set(await fetch(connection, PAYLOADS.needed_files, {"stores": list(stores)}, scalar_row))


async def not_needed(connection: Connection, paths: Sequence[str]) -> list[str]:
    """Return the paths of files that no row needs."""
    owners = {path: store_of_path(path) for path in paths}
    needed = await needed_files(connection, {owner for owner in owners.values() if owner is not None})
    answers = [path for path, owner in owners.items() if owner is None]
    unknown = await fetch(connection, PAYLOADS.paths_without_answer, {"paths": answers}, scalar_row)
    return [path for path, owner in owners.items() if owner is not None and path not in needed] + unknown
