"""Product details in the catalog, written again only when they change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, LiteralString

import psycopg
import pytest
from storecrawl.catalog import RefreshReport, find_product, product_details, product_variants
from storecrawl.catalog.normalize import NO_DETAILS, Compound, Effect, Measure, Menu, PotencyUnit, Special

pytestmark = pytest.mark.asyncio

START = datetime(2026, 5, 1, tzinfo=UTC)
TELLING: dict[str, object] = {
    "type": "Edible",
    "Options": ["10pk/100mg"],
    "effects": {"calm": 9},
    "cannabinoidsV2": [{"cannabinoid": {"name": "CBG"}, "value": 0.167, "unit": "PERCENTAGE"}],
    "terpenes": [{"name": "Limonene", "value": 12.5, "unit": "MILLIGRAMS_PER_GRAM"}],
    "specialData": {"saleSpecials": [{"specialId": "a", "specialName": "25% OFF", "discount": 25, "percentDiscount": True}]},
    "collectionCardBadge": {"title": "Staff pick"},
    "measurements": {"netWeight": {"unit": "MILLIGRAMS", "values": [3500]}, "volume": None},
    "recOnly": True,
    "medicalOnly": False,
    "createdAt": "2026-04-01T00:00:00Z",
    "updatedAt": "2026-04-30T12:00:00Z",
}  # fmt: skip
VERSIONS: LiteralString = """
select details.xmin::text as details, variant.xmin::text as variant
from storecrawl.product_details as details join storecrawl.variants as variant using (product_id)
"""

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]


async def test_all_product_details_are_stored(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    await refresh(await new_store(), 0, make_menu({"a": TELLING}))

    [row] = await query("select id from storecrawl.products")
    product, details = await find_product(connection, row["id"]), await product_details(connection, row["id"])
    [variant] = await product_variants(connection, row["id"])
    assert (product.rec_only, product.medical_only) == (True, False)
    assert product.listed_at == datetime(2026, 4, 1, tzinfo=UTC)
    assert product.revised_at == datetime(2026, 4, 30, 12, tzinfo=UTC)
    assert (variant.dose_mg, variant.pack_count, variant.weight_value) == (Decimal(100), 10, None)
    assert details.effects == (Effect(name="calm", score=Decimal(9)),)
    assert details.cannabinoids == (Compound(name="CBG", value=Decimal("0.167"), unit=PotencyUnit.PERCENTAGE),)
    assert details.terpenes == (Compound(name="Limonene", value=Decimal("12.5"), unit=PotencyUnit.MILLIGRAMS_PER_GRAM),)
    assert details.specials == (
        Special(external_id="a", name="25% OFF", kind="sale", discount_type="percent", discount=Decimal(25)),
    )
    assert details.tags == ("Staff pick",)
    assert (details.net_weight, details.volume) == (Measure(values=(Decimal(3500),), unit="mg"), None)


async def test_details_are_numbers_in_sql_too(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    await refresh(await new_store(), 0, make_menu({"a": TELLING}))

    [row] = await query(
        "select terpene ->> 'name' as name, (terpene -> 'value')::numeric as value, tags"
        " from storecrawl.product_details, jsonb_array_elements(terpenes) as terpene where effects @> %s",
        '[{"name": "calm", "score": 9}]',
    )
    assert row == {"name": "Limonene", "value": Decimal("12.5"), "tags": ["Staff pick"]}


async def test_missing_details_are_removed(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu({"a": TELLING}))

    report = await refresh(store, 1, make_menu(["a"]))

    [row] = await query("select id, rec_only from storecrawl.products")
    assert (report.updated, row["rec_only"]) == (1, None)
    assert await product_details(connection, row["id"]) == NO_DETAILS


async def test_older_payload_does_not_revert_details(
    connection: psycopg.AsyncConnection, new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 1, make_menu({"a": {"effects": {"new": 1}}}))

    report = await refresh(store, 0, make_menu({"a": {"effects": {"old": 1}}}))

    [row] = await query("select id from storecrawl.products")
    assert report.stale == 1
    assert (await product_details(connection, row["id"])).effects == (Effect(name="new", score=Decimal(1)),)


async def test_platform_update_time_is_recorded_without_counting_as_a_change(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    """Platforms change the timestamps of whole menus for no reason: option and detail rows stay."""
    store = await new_store()
    await refresh(store, 0, make_menu({"a": TELLING}))
    before = await query(VERSIONS)

    report = await refresh(store, 1, make_menu({"a": {**TELLING, "updatedAt": "2026-05-01T00:30:00Z"}}))

    assert (report.updated, report.unchanged) == (0, 1)
    [row] = await query("select revised_at, changed_at from storecrawl.products")
    assert row == {"revised_at": START + timedelta(minutes=30), "changed_at": START}
    assert await query(VERSIONS) == before
