"""Which payload files the retention policy no longer keeps, and how their rows say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from storecrawl.catalog.sql import PAYLOADS
from storecrawl.statements import Connection, execute, fetch

# What a comparison of a store's latest two payloads reads stays, whatever the policy says.
NEWEST_KEPT = 2
STORES_AT_ONCE = 100


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
