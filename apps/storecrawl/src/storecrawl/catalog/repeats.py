"""Apply a payload that is identical to the store's last applied one without reading it. Most menus are.

The missing products count as missed once more, and its refusals are copied. Its products and their histories are
current already. Nothing here commits.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.payloads import StoredPayload
from storecrawl.catalog.refresh import DEFAULT_RULES, RefreshReport, RefreshRules, count_misses, lock_store, place_of
from storecrawl.catalog.refresh_rows import PayloadPosition
from storecrawl.catalog.refusals import MOST_ROWS
from storecrawl.catalog.sql import PAYLOADS, PRODUCTS, REFUSALS
from storecrawl.catalog.version import catalog_version
from storecrawl.statements import Connection, execute, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepeatedPayload:
    id: int
    applied_count: int
    refused_products: int
    refused_options: int


async def repeat_menu(
    connection: Connection, payload: StoredPayload, *, rules: RefreshRules = DEFAULT_RULES
) -> RefreshReport | None:
    """Apply a payload with the same document as the store's last applied one; return None if it must be read.

    It must be read if it was applied before, or if the last one was incomplete or has another catalog version. Raises
    UnknownPayload. Runs in the caller's transaction.
    """
    if payload.applied_at is not None:
        return None
    sequence = await lock_store(connection, payload.id, payload.store_id, payload.fetched_at)
    position = PayloadPosition(
        payload_id=payload.id,
        store_id=payload.store_id,
        fetched_at=payload.fetched_at,
        sequence=sequence,
        next=None,
        newer=0,
        threshold=rules.miss_threshold,
        version=catalog_version(),
        is_replay=False,
    )
    conditions = {**place_of(position), "most": MOST_ROWS}
    found = await fetch(connection, PAYLOADS.repeat_payload, conditions, class_row(_RepeatedPayload))
    return await _record_repeat(connection, position, found[0]) if found else None


async def _record_repeat(
    connection: Connection, position: PayloadPosition, repeated: _RepeatedPayload
) -> RefreshReport:
    place = {**place_of(position), "repeated": repeated.id}
    if refused := await fetch(connection, REFUSALS.repeat_refusals, place, scalar_row):
        await execute(connection, PRODUCTS.touch_refused_products, {**place, "external_ids": refused})
    missed = await count_misses(connection, position)
    return RefreshReport(
        payload_id=position.payload_id,
        new=0,
        updated=0,
        returned=0,
        unchanged=repeated.applied_count,
        stale=0,
        missing=len(missed),
        out_of_stock=sum(miss.removed for miss in missed),
        refused=repeated.refused_products,
        refused_options=repeated.refused_options,
        left_out=0,
        history_changes=0,
    )
