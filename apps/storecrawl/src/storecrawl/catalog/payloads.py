"""Crawl payloads as rows: entered, listed, compared, and which files the retention policy no longer keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import DifferentPayload, NoPayload, UnknownPayload
from storecrawl.catalog.sql import PAYLOADS
from storecrawl.payloads import WrittenPayload
from storecrawl.statements import Connection, execute, fetch

# What a comparison of a store's latest two payloads reads stays, whatever the policy says.
NEWEST_KEPT = 2
STORES_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPayload:
    """A row: all that is needed to read the file back and to apply it again. Sizes in bytes.

    `product_count` is of the document as fetched; what it was when first applied is None before that, and so is what
    was refused when it was last applied. At `expired_at` its file was removed; the row stays. `raw_menu_id` names the
    answers that it was merged of.
    """

    id: int
    store_id: int
    task_id: int | None
    storage_path: str
    product_count: int
    size_raw: int
    size_gz: int
    sha256: str
    fetched_at: datetime
    created_at: datetime
    applied_at: datetime | None
    applied_count: int | None
    complete: bool | None
    refused_products: int | None
    refused_options: int | None
    expired_at: datetime | None
    raw_menu_id: int | None


async def record_payload(
    connection: Connection,
    written: WrittenPayload,
    *,
    store_id: int,
    task_id: int | None,
    fetched_at: datetime,
    product_count: int,
) -> int:
    """Enter a written file and note the fetch at its store; return the payload's id.

    The same file gives the same id a second time; DifferentPayload when its path belongs to another.
    """
    parameters = {
        "path": written.path,
        "size_raw": written.size_raw,
        "size_gz": written.size_gz,
        "sha256": written.sha256,
        "store_id": store_id,
        "task_id": task_id,
        "fetched_at": fetched_at,
        "product_count": product_count,
    }
    ids = await fetch(connection, PAYLOADS.record_payload, parameters, scalar_row)
    if not ids:
        raise DifferentPayload(written.path)
    return int(ids[0])


async def find_payload(connection: Connection, payload_id: int) -> StoredPayload:
    """The row of a payload; raises UnknownPayload."""
    rows = await fetch(connection, PAYLOADS.payload_by_id, {"payload_id": payload_id}, class_row(StoredPayload))
    if not rows:
        raise UnknownPayload(payload_id)
    return rows[0]


async def without_row(connection: Connection, paths: Sequence[str]) -> list[str]:
    """Those of some paths that no row names."""
    return await fetch(connection, PAYLOADS.paths_without_payload, {"paths": list(paths)}, scalar_row)


async def list_payloads(
    connection: Connection, *, store_id: int | None = None, before: int | None = None, limit: int = 50
) -> list[StoredPayload]:
    """A page of payloads, the newest fetch first; `before` is the id of the last one of the page before."""
    parameters = {"store_id": store_id, "before": before, "limit": limit}
    query = PAYLOADS.list_payloads if store_id is None else PAYLOADS.list_payloads_of_store
    return await fetch(connection, query, parameters, class_row(StoredPayload))


async def latest_payload(connection: Connection, store_id: int) -> StoredPayload:
    """The payload of a store's newest fetch. Raises NoPayload where it was never fetched."""
    newest = await list_payloads(connection, store_id=store_id, limit=1)
    if not newest:
        raise NoPayload(store_id)
    return newest[0]


async def payloads_to_compare(
    connection: Connection, store_id: int, earlier: int | None = None, later: int | None = None
) -> tuple[StoredPayload, StoredPayload]:
    """Two payloads of a store: those with the given ids, else its latest one, and the one before that.

    Raises UnknownPayload for one that is not this store's, NoPayload where there are too few.
    """
    to = await _of_store(connection, store_id, later) if later else await latest_payload(connection, store_id)
    if earlier:
        return await _of_store(connection, store_id, earlier), to
    older = await list_payloads(connection, store_id=store_id, before=to.id, limit=1)
    if not older:
        raise NoPayload(store_id, before=to.id)
    return older[0], to


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What is kept: files fetched at `before` or later, and the `newest` ones of each store; either is enough."""

    before: datetime | None
    newest: int = NEWEST_KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpirablePayload:
    """A payload whose files may go: the document's, and that of the raw menu it was made of."""

    id: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    store_id: int
    id: int | None
    storage_path: str | None
    raw_path: str | None


async def expirable_payloads(
    connection: Connection, retention: Retention, *, after: int = 0
) -> tuple[list[ExpirablePayload], int | None]:
    """What the next stores after a store's id have to lose, and the last one's id; None where none are left."""
    parameters = {
        "after": after,
        "stores": STORES_AT_ONCE,
        "newest": max(retention.newest, NEWEST_KEPT),
        "before": retention.before,
    }
    rows = await fetch(connection, PAYLOADS.expirable_payloads, parameters, class_row(_Row))
    found = [
        ExpirablePayload(id=row.id, paths=tuple(filter(None, (row.storage_path, row.raw_path))))
        for row in rows
        if row.id is not None and row.storage_path is not None
    ]
    return found, rows[-1].store_id if rows else None


async def mark_expired(connection: Connection, payload_ids: Sequence[int]) -> int:
    """Note that the files of these payloads were removed; return how many rows say so now that did not before."""
    return await execute(connection, PAYLOADS.mark_expired, {"ids": list(payload_ids)})


async def _of_store(connection: Connection, store_id: int, payload_id: int) -> StoredPayload:
    payload = await find_payload(connection, payload_id)
    if payload.store_id != store_id:
        raise UnknownPayload(payload_id, store_id)
    return payload
