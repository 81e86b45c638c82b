"""Apply a normalized menu to the catalog: write products, count misses, set the history. Nothing here commits.

A refresh locks the store's row first, so that refreshes of one store run one after another, and then the rows of
changed products in the order of their external ids. The state of the products depends on which payloads were applied,
not on how often or in which order:

- a product shows the newest payload that contains it, by the number of the store's fetch;
- its misses are the complete payloads applied since it was last seen;
- its history has, for each payload, the values of that payload. Only changes are written.

A replay writes its rows again even if their hashes are right. A corrected value is no change of the shop: price changes
are counted from the history. Only the times of other changes depend on the order in which payloads were applied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.dark import forget_stock, lighten_store
from storecrawl.catalog.errors import HeldMenu, UnknownPayload
from storecrawl.catalog.history import Span, find_span, write_history
from storecrawl.catalog.normalize import Menu, known_values, shares_of
from storecrawl.catalog.plausibility import MenuHistory, Plausibility
from storecrawl.catalog.refresh_rows import (
    EarlierProduct,
    PayloadPosition,
    Plan,
    Row,
    brand_rows,
    content_hash,
    details_row,
    plan_refresh,
    product_row,
    touched_row,
    variant_rows,
    with_unknown_stock,
)
from storecrawl.catalog.refusals import record_refusals
from storecrawl.catalog.sql import BRANDS, DETAILS, PAYLOADS, PRODUCTS, VARIANTS
from storecrawl.catalog.version import catalog_version
from storecrawl.statements import Connection, exact_json, execute, fetch, json_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRules:
    """The plausibility rule, and the number of complete menus without a product after which it is removed."""

    plausibility: Plausibility = field(default_factory=Plausibility)
    miss_threshold: int = 3


DEFAULT_RULES: Final = RefreshRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshReport:
    """The effects of applying a payload.

    Every product of the menu is one of `new`, `updated`, `returned` (from removal, or from an unknown stock),
    `unchanged` or `stale` (the catalog shows a newer payload). `missing` counts products with one more miss,
    `out_of_stock` those of them that reached the threshold. `refused` products and `refused_options` of other products
    are stored as refusals. `left_out` is the number of products of the menu that the payload lacks, or None if unknown.
    Misses are counted only for complete payloads. `history_changes` counts the records of the histories with other
    values than before at this payload: products, prices of options and stocks of options.
    """

    payload_id: int
    new: int
    updated: int
    returned: int
    unchanged: int
    stale: int
    missing: int
    out_of_stock: int
    refused: int
    refused_options: int
    left_out: int | None
    history_changes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A product with one more miss, and whether it was removed for it."""

    id: int
    removed: bool


async def apply_menu(
    connection: Connection,
    payload_id: int,
    store_id: int,
    fetched_at: datetime,
    menu: Menu,
    *,
    rules: RefreshRules = DEFAULT_RULES,
) -> RefreshReport:
    """Apply a payload's menu to the catalog in the caller's transaction. Applying it again corrects its rows.

    Raises UnknownPayload if the payload is not of this store and fetch. Raises HeldMenu, before anything is written,
    if the menu lost too much; the caller then records that with `hold_menu` in another transaction.
    """
    sequence = await lock_store(connection, payload_id, store_id, fetched_at)
    place: dict[str, object] = {"payload_id": payload_id, "store_id": store_id, "sequence": sequence}
    history = await _history(connection, place, rules.plausibility)
    known = known_values(menu)
    if not history.applied:
        rules.plausibility.check_claim(menu)
        rules.plausibility.check_history(menu, known, history)
        if history.is_dark:
            await lighten_store(connection, store_id, sequence)
    outcome = {
        "applied_count": len(menu.products),
        "complete": menu.complete,
        "catalog_version": catalog_version(),
        "known_shares": json_text(shares_of(known)),
    }
    await execute(connection, PAYLOADS.mark_applied, {"payload_id": payload_id, **outcome})
    span = await find_span(connection, store_id, sequence, fetched_at, applied=history.applied)
    position = PayloadPosition(
        payload_id=payload_id,
        store_id=store_id,
        fetched_at=fetched_at,
        sequence=sequence,
        next=span.next_sequence,
        newer=history.newer,
        threshold=rules.miss_threshold,
        version=catalog_version(),
        is_replay=history.applied,
    )
    report = await _refresh(connection, position, span, menu)
    if history.is_dark:  # an older menu is no news of the stock
        await forget_stock(connection, [store_id])
    return report


async def lock_store(connection: Connection, payload_id: int, store_id: int, fetched_at: datetime) -> int:
    """Lock a payload's store; return the number of the payload's fetch.

    Raises UnknownPayload if the payload is not of this store and fetch.
    """
    place = {"payload_id": payload_id, "store_id": store_id, "fetched_at": fetched_at}
    for sequence in await fetch(connection, PAYLOADS.lock_store, place, scalar_row):
        return int(sequence)
    raise UnknownPayload(payload_id, store_id)


async def hold_menu(connection: Connection, payload_id: int, menu: Menu, because: HeldMenu) -> None:
    """Record why a payload is not applied. It stays held until it is applied."""
    parameters = {
        "payload_id": payload_id,
        "fields": because.fields,
        "because": str(because),
        "known_shares": json_text(shares_of(known_values(menu))),
    }
    await execute(connection, PAYLOADS.hold_payload, parameters)


async def _history(connection: Connection, place: dict[str, object], plausibility: Plausibility) -> MenuHistory:
    parameters = {**place, "smallest_share": plausibility.smallest_share}
    return (await fetch(connection, PAYLOADS.read_history, parameters, class_row(MenuHistory)))[0]


async def _refresh(connection: Connection, position: PayloadPosition, span: Span, menu: Menu) -> RefreshReport:
    known = await _known_products(connection, position, menu)
    hashes = {product.external_id: content_hash(product) for product in menu.products}
    plan = plan_refresh(menu, known, hashes, position)
    ids = {product.external_id: product.id for product in known.values()}
    ids |= await _write_products(connection, position, plan, known, hashes)
    await _write_variants(connection, position, plan, known, ids)
    await _write_details(connection, plan, ids)
    await _touch(connection, position, plan, menu, known)
    await record_refusals(connection, position.payload_id, position.store_id, menu.refused)
    missed = await count_misses(connection, position)
    history_changes = await _write_history(connection, span, plan, menu, known, ids)
    return RefreshReport(
        payload_id=position.payload_id,
        new=len(plan.new),
        updated=len(plan.updated),
        returned=len(plan.returned),
        unchanged=len(plan.unchanged) + len(plan.rechecked),
        stale=len(plan.stale),
        missing=len(missed),
        out_of_stock=sum(miss.removed for miss in missed),
        refused=menu.refused_count,
        refused_options=len(menu.refused) - menu.refused_count,
        left_out=menu.left_out,
        history_changes=history_changes,
    )


async def _known_products(connection: Connection, position: PayloadPosition, menu: Menu) -> dict[str, EarlierProduct]:
    """Return the known products of a menu, and those that were last seen in the payload before it."""
    external_ids = [product.external_id for product in menu.products]
    parameters = {**place_of(position), "external_ids": external_ids}
    rows = await fetch(connection, PRODUCTS.products_of_menu, parameters, class_row(EarlierProduct))
    return {row.external_id: row for row in rows}


async def _write_products(
    connection: Connection,
    position: PayloadPosition,
    plan: Plan,
    known: dict[str, EarlierProduct],
    hashes: dict[str, bytes],
) -> dict[str, int]:
    if not plan.products_to_write:
        return {}
    if brands := list(brand_rows(plan.products_to_write)):
        await execute(connection, BRANDS.enter_brands, {"brands": json_text(brands)})
    rows: list[Row] = []
    for product in plan.products_to_write:
        known_product = known.get(product.external_id)
        row = product_row(product, known_product, position)
        row = with_unknown_stock(row) if position.keeps_stock_unknown(known_product) else row
        rows.append({**row, "content_hash": hashes[product.external_id].hex()})
    parameters = {**place_of(position), "products": json_text(rows)}
    return {
        external_id: product_id
        for product_id, external_id in await fetch(connection, PRODUCTS.upsert_products, parameters, tuple_row)
    }


async def _write_variants(
    connection: Connection,
    position: PayloadPosition,
    plan: Plan,
    known: dict[str, EarlierProduct],
    ids: dict[str, int],
) -> None:
    place = place_of(position)
    if plan.products_to_write:
        rows: list[Row] = []
        for product in plan.products_to_write:
            known_product = known.get(product.external_id)
            removed = position.misses(known_product) >= position.threshold
            options = variant_rows(product, ids[product.external_id], removed=removed)
            rows += map(with_unknown_stock, options) if position.keeps_stock_unknown(known_product) else options
        product_ids = [ids[product.external_id] for product in plan.products_to_write]
        parameters = {**place, "variants": json_text(rows), "product_ids": product_ids, "listed": True}
        await execute(connection, VARIANTS.upsert_variants, parameters)
        await execute(connection, VARIANTS.unlist_variants, parameters)
    if plan.stale:
        rows = [row for product in plan.stale for row in variant_rows(product, ids[product.external_id], removed=True)]
        await execute(connection, VARIANTS.upsert_variants, {**place, "variants": json_text(rows), "listed": False})


async def _write_details(connection: Connection, plan: Plan, ids: dict[str, int]) -> None:
    if plan.products_to_write:
        rows = [details_row(product, ids[product.external_id]) for product in plan.products_to_write]
        await execute(connection, DETAILS.upsert_details, {"details": exact_json(rows)})


async def _touch(
    connection: Connection, position: PayloadPosition, plan: Plan, menu: Menu, known: dict[str, EarlierProduct]
) -> None:
    """Record the sighting of products that are not written, and that others are no longer seen."""
    place = place_of(position)
    products = {product.external_id: product for product in menu.products}
    touched = [touched_row(products[each.external_id], each, position) for each in plan.unchanged]
    if rows := [row for row in touched if row]:
        await execute(connection, PRODUCTS.touch_products, {**place, "products": json_text(rows)})
    stale = [known[product.external_id] for product in plan.stale]
    if seen_before := [each.id for each in stale if each.first_seen_at > position.fetched_at]:
        await execute(connection, PRODUCTS.touch_stale_products, {**place, "ids": seen_before})
    refused = [refusal.external_id for refusal in menu.refused if refusal.option is None and refusal.external_id]
    if refused:
        await execute(connection, PRODUCTS.touch_refused_products, {**place, "external_ids": refused})
    seen = products.keys() | set(refused)
    gone = [each.id for each in known.values() if each.external_id not in seen and each.absent_from == position.next]
    if gone:
        await execute(connection, PRODUCTS.leave_products, {**place, "ids": gone})


async def _write_history(
    connection: Connection,
    span: Span,
    plan: Plan,
    menu: Menu,
    known: dict[str, EarlierProduct],
    ids: dict[str, int],
) -> int:
    """Set the history: that of changed products after a new payload, otherwise that of all products of the store."""
    if span.is_appended:
        written = [ids[product.external_id] for product in plan.products_to_write]
        returned = [each.id for each in plan.unchanged if not each.in_history]
        present = {product.external_id for product in menu.products}
        gone = [each.id for each in known.values() if each.in_history and each.external_id not in present]
        products = written + returned + gone
    else:
        products = await fetch(connection, PRODUCTS.ids_of_store, {"store_id": span.store_id}, scalar_row)
    return await write_history(connection, span, menu, ids, products) if products else 0


async def count_misses(connection: Connection, position: PayloadPosition) -> list[Miss]:
    """Count the products that a payload lacks; return those whose number of misses changed."""
    missed = await fetch(connection, PRODUCTS.count_misses, place_of(position), class_row(Miss))
    removed = [miss.id for miss in missed if miss.removed]
    if removed:
        parameters = {"fetched_at": position.fetched_at, "product_ids": removed}
        await execute(connection, VARIANTS.empty_removed_variants, parameters)
    return missed


def place_of(position: PayloadPosition) -> dict[str, object]:
    """Return the statement parameters that describe a payload."""
    return {
        "payload_id": position.payload_id,
        "store_id": position.store_id,
        "fetched_at": position.fetched_at,
        "sequence": position.sequence,
        "next": position.next,
        "newer": position.newer,
        "threshold": position.threshold,
        "catalog_version": position.version,
        "is_replay": position.is_replay,
    }
