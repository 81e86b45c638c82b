"""Apply a payload that is byte by byte what its store's last one was, without a look into it: most menus are.

What holds of a payload that was read holds of it: its products were seen, those that it lacks were missed once more,
what was refused of it stands in rows. Its snapshots are those of the payload that it repeats. Nothing here commits.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import UnknownPayload
from storecrawl.catalog.normalize import fingerprint
from storecrawl.catalog.payloads import StoredPayload
from storecrawl.catalog.refresh import DEFAULT_RULES, RefreshReport, RefreshRules, count_misses, place_of
from storecrawl.catalog.refresh_rows import Fetched
from storecrawl.catalog.refusals import MOST_ROWS
from storecrawl.catalog.sql import PAYLOADS, PRODUCTS, REFUSALS
from storecrawl.statements import Connection, execute, fetch

__all__ = ["repeat_menu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeated:
    id: int
    applied_count: int
    refused_products: int
    refused_options: int


async def repeat_menu(
    connection: Connection, payload: StoredPayload, *, rules: RefreshRules = DEFAULT_RULES
) -> RefreshReport | None:
    """Bring a payload into the catalog if it says what the store's last applied one does; None where it must be read.

    It must be when it was applied before, when the last one was not complete, and when another normalizer read that.
    Raises UnknownPayload. Runs in the caller's transaction.
    """
    if payload.applied_at is not None:
        return None
    fetched = Fetched(
        payload_id=payload.id,
        store_id=payload.store_id,
        fetched_at=payload.fetched_at,
        newer=0,
        threshold=rules.miss_threshold,
    )
    place = place_of(fetched)
    if not await fetch(connection, PAYLOADS.lock_store, place, scalar_row):
        raise UnknownPayload(payload.id, payload.store_id)
    conditions = {**place, "normalizer": fingerprint(), "most": MOST_ROWS}
    found = await fetch(connection, PAYLOADS.repeat_payload, conditions, class_row(_Repeated))
    return await _see_again(connection, fetched, found[0]) if found else None


async def _see_again(connection: Connection, fetched: Fetched, repeated: _Repeated) -> RefreshReport:
    place = {**place_of(fetched), "repeated": repeated.id}
    await execute(connection, PRODUCTS.touch_repeated_products, place)
    if refused := await fetch(connection, REFUSALS.repeat_refusals, place, scalar_row):
        await execute(connection, PRODUCTS.touch_refused_products, {**place, "external_ids": refused})
    missed = await count_misses(connection, fetched)
    return RefreshReport(
        payload_id=fetched.payload_id,
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
        product_snapshots=0,
        variant_snapshots=0,
    )
