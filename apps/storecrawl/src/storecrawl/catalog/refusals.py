"""Rows of refusals: the unusable parts of a payload and the reasons, written whenever the payload is applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from storecrawl.catalog.normalize import Refusal
from storecrawl.catalog.sql import REFUSALS
from storecrawl.statements import Connection, execute, fetch, json_text

# If a menu's format has changed, every product is refused for the same reason.
MOST_ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRefusal:
    """A refused product, identified by its position in the document, or one refused `option` of it."""

    id: int
    store_id: int
    payload_id: int
    record_index: int
    external_id: str | None
    option: str | None
    reason: str
    fetched_at: datetime


async def record_refusals(
    connection: Connection, payload_id: int, store_id: int, refused: Sequence[Refusal], *, products: int | None = None
) -> None:
    """Replace the refusals of a payload.

    `products` is the number of refused products if not all of them were read.
    """
    options = sum(refusal.option is not None for refusal in refused)
    parameters = {
        "payload_id": payload_id,
        "store_id": store_id,
        "products": max(products or 0, len(refused) - options),
        "options": options,
        "refusals": json_text(refused[:MOST_ROWS]),
    }
    await execute(connection, REFUSALS.record_refusals, parameters)


async def list_refusals(
    connection: Connection,
    *,
    store_id: int | None = None,
    payload_id: int | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[StoredRefusal]:
    """Return a page of refusals, the newest first, of a store, a payload or all."""
    parameters = {"store_id": store_id, "payload_id": payload_id, "before": before, "limit": limit}
    return await fetch(connection, REFUSALS.list_refusals, parameters, class_row(StoredRefusal))
