"""Which crawl payloads there are: of all stores, of one, and the two that are worth comparing."""

from __future__ import annotations

from psycopg.rows import class_row

from storecrawl.catalog.errors import NoPayload, UnknownPayload
from storecrawl.catalog.payload_rows import StoredPayload, find_payload
from storecrawl.catalog.sql import PAYLOADS
from storecrawl.statements import Connection, fetch


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


async def _of_store(connection: Connection, store_id: int, payload_id: int) -> StoredPayload:
    payload = await find_payload(connection, payload_id)
    if payload.store_id != store_id:
        raise UnknownPayload(payload_id, store_id)
    return payload
