"""The rows of raw menus: a fetch's answers as they came, with the payload that was made of them, or why none was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import UnknownRawMenu
from storecrawl.catalog.sql import RAW_MENUS
from storecrawl.payloads import WrittenPayload
from storecrawl.statements import Connection, execute, fetch

# A store that is refused at each fetch leaves another one each time; what is wrong with it, a few show.
REFUSED_KEPT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RawMenu:
    """A row: all that is needed to read the file back. Sizes in bytes; at `expired_at` the file was removed.

    Either a payload was made of it, or `problem` says why not.
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
    """Whose answers they are: a store's, of a task, at a moment; how many there are, and their digests."""

    store_id: int
    task_id: int | None
    fetched_at: datetime
    page_count: int
    digests: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestMenu:
    """A store's newest payload whose file is kept, and the digests of the answers that it was made of."""

    digests: Sequence[str]
    path: str
    sha256: str
    size_raw: int
    size_gz: int
    product_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpirableRaw:
    """A raw menu whose file may go."""

    id: int
    storage_path: str


async def record_raw_menu(
    connection: Connection,
    written: WrittenPayload,
    of: Fetch,
    *,
    payload_id: int | None = None,
    problem: str | None = None,
) -> int:
    """Enter a written file, with the payload that was made of it, or why none was; return the raw menu's id."""
    parameters = {
        "path": written.path,
        "size_raw": written.size_raw,
        "size_gz": written.size_gz,
        "sha256": written.sha256,
        "store_id": of.store_id,
        "task_id": of.task_id,
        "fetched_at": of.fetched_at,
        "page_count": of.page_count,
        "digests": list(of.digests),
        "payload_id": payload_id,
        "problem": problem,
    }
    return int((await fetch(connection, RAW_MENUS.record_raw_menu, parameters, scalar_row))[0])


async def newest_menu(connection: Connection, store_id: int) -> NewestMenu | None:
    """What a store's next fetch may find again; None where that is not known."""
    found = await fetch(connection, RAW_MENUS.newest_menu, {"store_id": store_id}, class_row(NewestMenu))
    return found[0] if found else None


async def list_raw_menus(
    connection: Connection, *, store_id: int | None = None, refused: bool = False, before: int | None = None,
    limit: int = 50,
) -> list[RawMenu]:  # fmt: skip
    """A page of raw menus, the newest fetch first: of a store or of all, those of which no payload was made or all."""
    parameters = {"store_id": store_id, "id": None, "refused": refused, "before": before, "limit": limit}
    return await fetch(connection, RAW_MENUS.list_raw_menus, parameters, class_row(RawMenu))


async def find_raw_menu(connection: Connection, raw_menu_id: int) -> RawMenu:
    """One raw menu. Raises UnknownRawMenu."""
    parameters = {"store_id": None, "id": raw_menu_id, "refused": False, "before": None, "limit": 1}
    for found in await fetch(connection, RAW_MENUS.list_raw_menus, parameters, class_row(RawMenu)):
        return found
    raise UnknownRawMenu(raw_menu_id)


async def refused_beyond(connection: Connection, store_id: int) -> list[ExpirableRaw]:
    """The kept raw menus of a store of which no payload was made, but for the newest few."""
    parameters = {"store_id": store_id, "newest": REFUSED_KEPT}
    return await fetch(connection, RAW_MENUS.refused_beyond, parameters, class_row(ExpirableRaw))


async def mark_raw_expired(connection: Connection, ids: Sequence[int]) -> None:
    """Note that the files of these raw menus were removed."""
    await execute(connection, RAW_MENUS.mark_raw_expired, {"ids": list(ids)})
