"""Rows of crawl payloads: recorded, listed, compared and expired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import DifferentPayload, NoPayload, UnknownPayload
from storecrawl.catalog.sql import PAYLOADS
from storecrawl.catalog.stores import begin_fetch
from storecrawl.payloads import WrittenPayload
from storecrawl.statements import Connection, execute, fetch

# A comparison reads a store's latest two payloads, so they stay whatever the retention policy is.
NEWEST_KEPT = 2
STORES_AT_ONCE = 100
PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPayload:
    """The row of a payload, with all that is needed to read and apply its file again. Sizes are in bytes.

    `product_count` counts the fetched document. `applied_count` is the count when it was first applied, and the
    refused ones are counted when it was last applied; both are None before. The file was removed at `expired_at`, the
    row stays. `raw_menu_id` identifies the merged responses. `known_shares` has the share of known values by field. A
    held payload says which fields lost values and why; it is not applied.
    """

    id: int
    store_id: int
    platform: str | None
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
    known_shares: dict[str, float] | None
    held_fields: list[str] | None
    held_because: str | None
    expired_at: datetime | None
    raw_menu_id: int | None


async def record_payload(  # sizes: the columns of a row
    connection: Connection,
    written: WrittenPayload,
    *,
    store_id: int,
    task_id: int | None,
    fetched_at: datetime,
    product_count: int,
    sequence: int | None = None,
) -> int:
    """Record a stored file and the fetch of its store; return the payload's id.

    `sequence` is the number that the fetch got when it began, by default the next one. The same document of
    the same fetch returns the same id again. Raises DifferentPayload if the fetch has another payload.
    """
    if sequence is None:
        sequence = (await begin_fetch(connection, store_id)).sequence
    parameters = {
        "path": written.path,
        "base_path": written.base_path,
        "size_raw": written.size_raw,
        "size_gz": written.size_gz,
        "sha256": written.sha256,
        "store_id": store_id,
        "task_id": task_id,
        "fetched_at": fetched_at,
        "product_count": product_count,
        "sequence": sequence,
    }
    ids = await fetch(connection, PAYLOADS.record_payload, parameters, scalar_row)
    if not ids:
        raise DifferentPayload(store_id, sequence)
    return int(ids[0])


async def find_payload(connection: Connection, payload_id: int) -> StoredPayload:
    """Return a payload's row. Raises UnknownPayload."""
    rows = await fetch(connection, PAYLOADS.payload_by_id, {"payload_id": payload_id}, class_row(StoredPayload))
    if not rows:
        raise UnknownPayload(payload_id)
    return rows[0]


async def list_payloads(
    connection: Connection, *, store_id: int | None = None, before: int | None = None, limit: int = 50
) -> list[StoredPayload]:
    """Return a page of payloads, the newest fetch first; `before` is the last id of the previous page."""
    parameters = {"store_id": store_id, "before": before, "limit": limit}
    query = PAYLOADS.list_payloads if store_id is None else PAYLOADS.list_payloads_of_store
    return await fetch(connection, query, parameters, class_row(StoredPayload))


async def applied_payloads(connection: Connection, store_id: int) -> list[StoredPayload]:
    """Return a store's applied payloads in the order of their fetches."""
    applied: list[StoredPayload] = []
    before = None
    while page := await list_payloads(connection, store_id=store_id, before=before, limit=PAGE):
        applied += (payload for payload in page if payload.applied_at is not None)
        before = page[-1].id
    return applied[::-1]


async def latest_payload(connection: Connection, store_id: int) -> StoredPayload:
    """Return the payload of a store's newest fetch. Raises NoPayload if it was never fetched."""
    newest = await list_payloads(connection, store_id=store_id, limit=1)
    if not newest:
        raise NoPayload(store_id)
    return newest[0]


async def payloads_to_compare(
    connection: Connection, store_id: int, earlier: int | None = None, later: int | None = None
) -> tuple[StoredPayload, StoredPayload]:
    """Return two payloads of a store: the given ones, by default the latest one and its predecessor.

    Raises UnknownPayload if one is not of this store, NoPayload if there are too few.
    """
    later_payload = (
        await _find_payload_of_store(connection, store_id, later)
        if later
        else await latest_payload(connection, store_id)
    )
    if earlier:
        return await _find_payload_of_store(connection, store_id, earlier), later_payload
    older = await list_payloads(connection, store_id=store_id, before=later_payload.id, limit=1)
    if not older:
        raise NoPayload(store_id, before=later_payload.id)
    return older[0], later_payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The retention policy: payloads fetched at `before` or later are kept, and the `newest` of each store."""

    before: datetime
    newest: int = NEWEST_KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpirablePayload:
    """A payload whose files may be given up: its document and its raw menu."""

    id: int
    store_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    store_id: int
    id: int | None


async def expirable_payloads(
    connection: Connection, retention: Retention, *, after: int = 0
) -> tuple[list[ExpirablePayload], int | None]:
    """Return the expirable payloads of the stores after `after`, and the last store's id, None at the end."""
    parameters = {
        "after": after,
        "stores": STORES_AT_ONCE,
        "newest": max(retention.newest, NEWEST_KEPT),
        "before": retention.before,
    }
    rows = await fetch(connection, PAYLOADS.expirable_payloads, parameters, class_row(_Row))
    found = [ExpirablePayload(id=row.id, store_id=row.store_id) for row in rows if row.id is not None]
    return found, rows[-1].store_id if rows else None


async def mark_expired(connection: Connection, payload_ids: Sequence[int]) -> int:
    """Give up the files of these payloads and of their raw menus; return how many rows changed."""
    return await execute(connection, PAYLOADS.mark_expired, {"ids": list(payload_ids)})


async def _find_payload_of_store(connection: Connection, store_id: int, payload_id: int) -> StoredPayload:
    payload = await find_payload(connection, payload_id)
    if payload.store_id != store_id:
        raise UnknownPayload(payload_id, store_id)
    return payload
