"""A menu is fetched whole: every page, every product once, both modes (covers SPEC C2-5, C2-7, C2-8)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgspec
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.upstream import MenuMode, RawMenu, UpstreamClient

from .conftest import QUICK, ClientFor


async def some_menu(client: UpstreamClient) -> RawMenu:
    stores = await client.stores()
    return await client.menu(stores[0].id, stores[0].pricing_types[0])


async def test_every_product_of_every_store_is_fetched_once(client_for: ClientFor, upstream: LocalUpstream) -> None:
    client = client_for(upstream.url, replace(QUICK, page_size=40))

    for store in (await client.stores())[:5]:
        menu = await client.menu(store.id, store.pricing_types[0])
        ids = [product["_id"] for product in menu.products]
        assert len(ids) == len(set(ids)) == menu.total_count > 0


async def test_pages_are_counted_from_zero_to_the_last_for_each_mode(
    client_for: ClientFor, upstream: LocalUpstream
) -> None:
    menu = await some_menu(client_for(upstream.url, replace(QUICK, page_size=10)))

    for walk in menu.walks.values():
        assert len(walk.pages) == -(-walk.total_count // 10) > 1


async def test_the_full_mode_also_brings_what_customers_do_not_see(client: UpstreamClient) -> None:
    menus = [await client.menu(store.id) for store in await client.stores()]

    shown = sum(len(menu.walks[MenuMode.SHOWN].products) for menu in menus)
    full = sum(len(menu.walks[MenuMode.FULL].products) for menu in menus)
    assert shown < full == sum(len(menu.products) for menu in menus)


async def test_products_that_customers_see_are_above_the_threshold(client: UpstreamClient) -> None:
    menus = [await client.menu(store.id) for store in await client.stores()]

    shown = [product for menu in menus for product in menu.walks[MenuMode.SHOWN].products.values()]
    full = [product for menu in menus for product in menu.products]
    assert not any(product["isBelowThreshold"] for product in shown)
    assert any(product["isBelowThreshold"] for product in full)


async def test_customers_do_not_see_options_below_the_threshold(client: UpstreamClient) -> None:
    walks = [(await client.menu(store.id)).walks for store in await client.stores()]

    shown = {key: p for walk in walks for key, p in walk[MenuMode.SHOWN].products.items()}
    full = {key: p for walk in walks for key, p in walk[MenuMode.FULL].products.items()}
    partly_out = {key: p for key, p in full.items() if p["optionsBelowThreshold"] and key in shown}
    assert partly_out
    for key, product in partly_out.items():
        assert set(shown[key]["Options"]) == set(product["Options"]) - set(product["optionsBelowThreshold"])


async def test_the_document_has_the_shape_of_an_answer(client: UpstreamClient) -> None:
    menu = await some_menu(client)

    document = msgspec.json.decode(msgspec.json.encode(menu.document()))

    root = document["data"]["filteredProducts"]
    assert len(root["products"]) == root["queryInfo"]["totalCount"] == menu.total_count
    assert document["fetched"]["complete"] is True
    assert document["fetched"]["modes"].keys() == {"shown", "full"}


async def test_the_pages_are_kept_as_they_came(client: UpstreamClient) -> None:
    menu = await some_menu(client)

    answers = [msgspec.json.decode(body)["data"]["filteredProducts"] for body in menu.pages]
    ids = {product["_id"] for answer in answers for product in answer["products"]}
    assert len(answers) == menu.page_count
    assert ids == {product["_id"] for product in menu.products}


async def test_a_menu_that_changes_between_two_pages_is_still_fetched_whole(
    client_for: ClientFor, upstream: LocalUpstream
) -> None:
    client = client_for(upstream.url, replace(QUICK, page_size=5, modes=(MenuMode.FULL,)))
    store = (await client.stores())[1]

    fetching = asyncio.create_task(client.menu(store.id))
    while not fetching.done():
        upstream.advance()
        await asyncio.sleep(0.01)

    ids = [product["_id"] for product in (await fetching).products]
    assert len(ids) == len(set(ids)) > 0


async def test_an_unknown_store_has_an_empty_menu(client: UpstreamClient) -> None:
    menu = await client.menu("f" * 24)

    assert (menu.products, menu.total_count, menu.is_complete) == ([], 0, True)
