"""Menus compared with the catalog, value by value, by a second reader."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import Plausibility, RefreshReport, RefreshRules, apply_menu
from storecrawl.catalog.normalize import Menu

from apps.storecrawl.tests.catalog.conftest import START
from apps.storecrawl.tests.catalog.plain_reading import Reading, Values, read
from apps.storecrawl.tests.menu_samples import MENU_FORMS, Sample, samples

PRODUCTS = """
select
    product.id, external_id, name, brand, category, subcategory, strain_type, thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit,
    listed_at, revised_at, rec_only, medical_only, in_stock, effects, cannabinoids, terpenes, specials, tags
from storecrawl.products as product
join storecrawl.product_details as details on details.product_id = product.id
"""
VARIANTS = """
select
    product_id, option, weight_value, weight_unit, dose_mg, pack_count,
    price_rec_cents, price_med_cents, special_rec_cents, special_med_cents, quantity
from storecrawl.variants
"""

Query = Callable[..., Awaitable[list[dict[str, Any]]]]
Apply = Callable[[int, Menu], Awaitable[RefreshReport]]


@pytest.fixture
def apply(connection: psycopg.AsyncConnection, new_payload: Callable[..., Awaitable[int]]) -> Apply:
    """Apply a menu even if products are left out: a sample may be one page of many."""
    rules = RefreshRules(plausibility=Plausibility(smallest_share=0))

    async def run(store_id: int, menu: Menu) -> RefreshReport:
        async with connection.transaction():
            return await apply_menu(connection, await new_payload(store_id, 0), store_id, START, menu, rules=rules)

    return run


@pytest.mark.parametrize("sample", samples(*MENU_FORMS), ids=str)
async def test_catalog_contains_every_value_of_a_menu(
    sample: Sample, new_store: Callable[..., Awaitable[int]], apply: Apply, query: Query
) -> None:
    reading = read(sample.read())
    assert reading is not None
    menu = sample.menu

    await apply(await new_store(), menu)

    stored = await stored_values(query)
    assert differences(reading, stored) == []
    assert sum(map(len, stored.values())) >= 20 * len(reading.products) > 0
    assert (menu.total_count, menu.complete) == (reading.claimed, reading.claimed == len(reading.products))


def differences(reading: Reading, stored: dict[str, Values]) -> list[tuple[str, str, object, object]]:
    """Yield each different value: the product's key, the field, and both values."""
    return [
        (key, name, there.get(name), here.get(name))
        for key in reading.products.keys() | stored.keys()
        for there, here in [(reading.products.get(key, {}), stored.get(key, {}))]
        for name in there.keys() | here.keys()
        if there.get(name) != here.get(name)
    ]


async def stored_values(query: Query) -> dict[str, Values]:
    products = {row["id"]: row for row in await query(PRODUCTS)}
    values = {row["external_id"]: product_values(row) for row in products.values()}
    for row in await query(VARIANTS):
        values[products[row["product_id"]]["external_id"]] |= option_values(row)
    return values


def product_values(row: dict[str, Any]) -> Values:
    return {
        **{name: row[name] for name in ("name", "brand", "category", "subcategory", "rec_only", "medical_only", "in_stock", "tags")},
        "strain": row["strain_type"],
        "thc": (row["thc_lo"], row["thc_hi"], row["thc_unit"]) if row["thc_lo"] is not None else None,
        "cbd": (row["cbd_lo"], row["cbd_hi"], row["cbd_unit"]) if row["cbd_lo"] is not None else None,
        "made": row["listed_at"],
        "changed": row["revised_at"],
        "effects": [(each["name"], each["score"]) for each in row["effects"]],
        **{name: [compound(each) for each in row[name]] for name in ("cannabinoids", "terpenes")},
        "specials": [
            (*(each[name] for name in ("external_id", "name", "kind", "menu", "discount_type")), figure(each["discount"]))
            for each in row["specials"]
        ],
    }  # fmt: skip


def option_values(row: dict[str, Any]) -> Values:
    values = {
        "rec": row["price_rec_cents"],
        "med": row["price_med_cents"],
        "special rec": row["special_rec_cents"],
        "special med": row["special_med_cents"],
        "quantity": row["quantity"],
        "weight": (row["weight_value"], row["weight_unit"]) if row["weight_value"] is not None else None,
        "dose": row["dose_mg"],
        "pieces": row["pack_count"],
    }
    return {f"{row['option']}: {name}": value for name, value in values.items()}


def compound(each: dict[str, Any]) -> tuple[str, Decimal | None, str | None]:
    return each["name"], figure(each["value"]), each["unit"]


def figure(stated: float | None) -> Decimal | None:
    """Return the exact figure of a float that psycopg read from jsonb."""
    return None if stated is None else Decimal(repr(stated))
