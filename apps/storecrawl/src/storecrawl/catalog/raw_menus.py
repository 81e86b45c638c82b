"""Rows of raw menus: the unchanged responses of a fetch, with their payload or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import UnknownRawMenu
from storecrawl.catalog.sql import RAW_MENUS
from storecrawl.payloads import WrittenPayload
from storecrawl.statements import Connection, execute, fetch

# A store that fails at each fetch adds one each time; a few are enough to see the problem.
REFUSED_KEPT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RawMenu:
    """The row of a raw menu. Sizes are bytes; the file was removed at `expired_at`.

    It has either a `payload_id` or a `problem`, the reason why there is no payload.
    """

    id: int
    store_id: int
    task_id: int | None
    payload_id: int | None
    problem: str | None
    storage_path: str
    page_count: int
    size_raw: int
    size_gz: int
    sha256: str
    fetched_at: datetime
    created_at: datetime
    expired_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """The fetch of a store: its task, time, number of responses and their digests."""

    store_id: int
    task_id: int | None
    fetched_at: datetime
    page_count: int
    digests: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestMenu:
    """A store's newest payload whose file exists, and the digests of its responses."""

    digests: Sequence[str]
    path: str
    sha256: str
    size_raw: int
    size_gz: int
    product_count: int


async def record_raw_menu(
    connection: Connection,
    written: WrittenPayload,
    source_fetch: Fetch,
    *,
    payload_id: int | None = None,
    problem: str | None = None,
) -> int:
    """Record a stored file with its payload, or with the reason why there is none; return the raw menu's id."""
    parameters = {
        "path": written.path,
        "base_path": written.base_path,
        "size_raw": written.size_raw,
        "size_gz": written.size_gz,
        "sha256": written.sha256,
        "store_id": source_fetch.store_id,
        "task_id": source_fetch.task_id,
        "fetched_at": source_fetch.fetched_at,
        "page_count": source_fetch.page_count,
        "digests": list(source_fetch.digests),
        "payload_id": payload_id,
        "problem": problem,
    }
    return int((await fetch(connection, RAW_MENUS.record_raw_menu, parameters, scalar_row))[0])


async def newest_menu(connection: Connection, store_id: int) -> NewestMenu | None:
    """Return the menu with which a store's next fetch is compared; None if unknown."""
    found = await fetch(connection, RAW_MENUS.newest_menu, {"store_id": store_id}, class_row(NewestMenu))
    return found[0] if found else None


async def newest_base(connection: Connection, store_id: int) -> str | None:
    """Return the path of the full file of which a store's next raw menu can be a delta; None if there is none."""
    found = await fetch(connection, RAW_MENUS.newest_base, {"store_id": store_id}, scalar_row)
    return str(found[0]) if found else None


async def list_raw_menus(
    connection: Connection, *, store_id: int | None = None, refused: bool = False, before: int | None = None,
    limit: int = 50,
) -> list[RawMenu]:  # fmt: skip
    """Return a page of raw menus, the newest fetch first: of one store or all, or only those without a payload."""
    parameters = {"store_id": store_id, "id": None, "refused": refused, "before": before, "limit": limit}
    return await fetch(connection, RAW_MENUS.list_raw_menus, parameters, class_row(RawMenu))


async def find_raw_menu(connection: Connection, raw_menu_id: int) -> RawMenu:
    """Return a raw menu. Raises UnknownRawMenu."""
    parameters = {"store_id": None, "id": raw_menu_id, "refused": False, "before": None, "limit": 1}
    for found in await fetch(connection, RAW_MENUS.list_raw_menus, parameters, class_row(RawMenu)):
        return found
    raise UnknownRawMenu(raw_menu_id)


async def refused_beyond(connection: Connection, store_id: int) -> list[int]:
    """Return the ids of a store's raw menus without a payload whose file exists, except for the newest few."""
    parameters = {"store_id": store_id, "newest": REFUSED_KEPT}
    return await fetch(connection, RAW_MENUS.refused_beyond, parameters, scalar_row)


async def mark_raw_expired(connection: Connection, ids: Sequence[int]) -> None:
    """Give up the files of these raw menus: the rows no longer need them."""
    await execute(connection, RAW_MENUS.mark_raw_expired, {"ids": list(ids)})
