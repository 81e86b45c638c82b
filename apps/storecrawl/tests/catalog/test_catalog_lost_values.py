"""A menu that lost most values of a field is held: its shares of known values are stored, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from storecrawl.catalog import LostValues, RefreshReport
from storecrawl.catalog.normalize import Menu

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]

FULL = {
    "type": "Flower",
    "brandName": "A brand",
    "strainType": "Indica",
    "Image": "https://images.example/a.png",
    "THCContent": {"unit": "PERCENTAGE", "range": [22.5]},
    "CBDContent": {"unit": "PERCENTAGE", "range": [0.1]},
    "special": True,
    "recSpecialPrices": [15],
    "manualInventory": [{"option": "1g", "inventory": 9}],
}
FIELDS = ["price", "special", "potency", "quantity", "brand", "category", "strain", "image", "options", "name"]


@pytest.fixture
def menu_without(make_menu: MakeMenu) -> Callable[..., Menu]:
    """Make a menu of 40 products, of which the first `without` ones lack members, or have others."""

    def make(without: int = 0, *members: str, **others: object) -> Menu:
        poorer = {name: value for name, value in FULL.items() if name not in members} | others
        return make_menu({f"{number:03}": poorer if number < without else FULL for number in range(40)})

    return make


async def test_payload_has_the_share_of_known_values_of_ten_fields(
    new_store: NewStore, menu_without: MakeMenu, refresh: Refresh, query: Query
) -> None:
    await refresh(await new_store(), 0, menu_without(10, "brandName"))

    [row] = await query("select known_shares from storecrawl.payloads")
    assert row["known_shares"] == dict.fromkeys(FIELDS, 1.0) | {"brand": 0.75}


@pytest.mark.parametrize(
    ("field", "member"),
    [
        ("potency", "THCContent"),
        ("special", "recSpecialPrices"),
        ("special", "special"),
        ("quantity", "manualInventory"),
        ("brand", "brandName"),
        ("category", "type"),
        ("strain", "strainType"),
        ("image", "Image"),
    ],
)
async def test_menu_with_a_renamed_field_is_held(
    new_store: NewStore, menu_without: MakeMenu, refresh: Refresh, query: Query, field: str, member: str
) -> None:
    store = await new_store()
    await refresh(store, 0, menu_without())

    with pytest.raises(LostValues, match=f"{field} is known of 0 of 40 \\(100% before\\)"):
        await refresh(store, 1, menu_without(40, member))

    held = await query("select held_fields, applied_at from storecrawl.payloads order by id")
    assert [row["held_fields"] for row in held] == [None, [field]]
    assert await query("select id from storecrawl.products where brand is null or thc_lo is null") == []


async def test_menu_with_half_of_the_values_is_accepted(
    new_store: NewStore, menu_without: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 0, menu_without())

    assert (await refresh(store, 1, menu_without(20, "THCContent"))).updated == 20


async def test_end_of_a_sale_is_accepted(new_store: NewStore, menu_without: MakeMenu, refresh: Refresh) -> None:
    store = await new_store()
    await refresh(store, 0, menu_without())

    assert (await refresh(store, 1, menu_without(40, special=False, recSpecialPrices=[]))).updated == 40


async def test_field_that_stays_away_is_accepted_the_third_time(
    new_store: NewStore, menu_without: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, menu_without())
    for hour in (1, 2):
        with pytest.raises(LostValues):
            await refresh(store, hour, menu_without(40, "brandName"))

    assert (await refresh(store, 3, menu_without(40, "brandName"))).updated == 40


async def test_loss_of_another_field_confirms_nothing(
    new_store: NewStore, menu_without: MakeMenu, refresh: Refresh
) -> None:
    store = await new_store()
    await refresh(store, 0, menu_without())
    for hour, member in enumerate(("Image", "Image", "brandName"), start=1):
        with pytest.raises(LostValues):
            await refresh(store, hour, menu_without(40, member))
