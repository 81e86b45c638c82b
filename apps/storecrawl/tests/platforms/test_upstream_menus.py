"""A menu is fetched completely: every page, every product once, both modes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgspec
from storecrawl.demo.upstream import FaultDial, FaultKind, LocalUpstream
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.dutchie import FetchedMenu, Kind, MenuMode, UpstreamClient, menu_of
from storecrawl.platforms.raw_pages import RawPage, read_raw_pages, write_raw_pages

from .conftest import QUICK, ClientFor

SHOWN, FULL = Kind("rec", MenuMode.SHOWN), Kind("rec", MenuMode.FULL)


async def some_menu(client: UpstreamClient) -> FetchedMenu:
    stores = await client.stores()
    return await client.menu(stores[0].id, stores[0].pricing_types[:1])


async def test_every_product_of_every_store_is_fetched_once(client_for: ClientFor, upstream: LocalUpstream) -> None:
    client = client_for(upstream.url, replace(QUICK, page_size=40))

    for store in (await client.stores())[:5]:
        menu = await client.menu(store.id, store.pricing_types[:1])
        ids = [product["_id"] for product in menu.products]
        assert len(ids) == len(set(ids)) == menu.total_count
        assert ids


async def test_pages_are_counted_from_zero_to_the_last_for_each_mode(
    client_for: ClientFor, upstream: LocalUpstream
) -> None:
    menu = await some_menu(client_for(upstream.url, replace(QUICK, page_size=10)))

    for walk in menu.walks.values():
        assert len(walk.pages) == -(-(walk.total_count or 0) // 10) > 1


async def test_full_mode_includes_products_hidden_from_customers(client: UpstreamClient) -> None:
    menus = [await client.menu(store.id) for store in await client.stores()]

    shown = sum(len(menu.walks[SHOWN].products) for menu in menus)
    full = sum(len(menu.walks[FULL].products) for menu in menus)
    assert shown < full == sum(len(menu.products) for menu in menus)


async def test_products_shown_to_customers_are_above_the_threshold(client: UpstreamClient) -> None:
    menus = [await client.menu(store.id) for store in await client.stores()]

    shown = [product for menu in menus for product in menu.walks[SHOWN].products.values()]
    full = [product for menu in menus for product in menu.products]
    assert not any(product["isBelowThreshold"] for product in shown)
    assert any(product["isBelowThreshold"] for product in full)


async def test_options_below_the_threshold_are_hidden_from_customers(client: UpstreamClient) -> None:
    walks = [(await client.menu(store.id)).walks for store in await client.stores()]

    shown = {key: p for walk in walks for key, p in walk[SHOWN].products.items()}
    full = {key: p for walk in walks for key, p in walk[FULL].products.items()}
    partly_out = {key: p for key, p in full.items() if p["optionsBelowThreshold"] and key in shown}
    assert partly_out
    for key, product in partly_out.items():
        assert set(shown[key]["Options"]) == set(product["Options"]) - set(product["optionsBelowThreshold"])


async def test_document_has_the_shape_of_a_response(client: UpstreamClient) -> None:
    menu = await some_menu(client)

    document = msgspec.json.decode(msgspec.json.encode(menu.document()))

    root = document["data"]["filteredProducts"]
    assert len(root["products"]) == root["queryInfo"]["totalCount"] == menu.total_count
    assert document["fetched"]["complete"] is True
    assert [walk["mode"] for walk in document["fetched"]["walks"]] == ["shown", "full"]


async def test_document_lists_the_products_missing_from_each_walk(
    client_for: ClientFor, upstream: LocalUpstream
) -> None:
    client = client_for(upstream.url)
    for store in await client.stores():
        menu = await client.menu(store.id, store.pricing_types)
        lacks_by_kind = {
            Kind(each["pricingType"], each["mode"]): each["lacks"] for each in menu.document()["fetched"]["walks"]
        }

        assert lacks_by_kind == {
            kind: [product["_id"] for product in menu.products if product["_id"] not in walk.products]
            for kind, walk in menu.walks.items()
        }


async def test_every_response_is_passed_on_unchanged_and_the_menu_can_be_rebuilt(client: UpstreamClient) -> None:
    for store in (await client.stores())[:6]:
        answers: list[RawPage] = []
        menu = await client.menu(store.id, store.pricing_types, keep=answers.append)

        again = menu_of(store.id, QUICK.page_size, read_raw_pages([write_raw_pages(answers)]))

        assert {Kind.of(answer.part) for answer in answers} == menu.walks.keys()
        assert again.document() == menu.document()


async def test_menu_rebuilt_from_responses_with_failures_is_identical(
    client_for: ClientFor, upstream: LocalUpstream
) -> None:
    kinds = (FaultKind.ERRORS, FaultKind.EMPTY_PAGE, FaultKind.SCHEMA_DRIFT, FaultKind.ROTATED)
    upstream.set_failures(FaultDial(failure_rate=0.3, weights=dict.fromkeys(kinds, 1.0)))
    client = client_for(upstream.url, replace(QUICK, page_size=30, retries=12))

    for store in (await client.stores())[:6]:
        answers: list[RawPage] = []
        menu = await client.menu(store.id, store.pricing_types, keep=answers.append)

        assert menu_of(store.id, 30, answers).document() == menu.document()


async def test_store_with_both_price_lists_shows_rec_only_and_med_only_products(
    client_for: ClientFor, upstream: LocalUpstream
) -> None:
    """3.9 % of the products of such stores are medical only."""
    client, world = client_for(upstream.url), World(upstream.options)
    both = [store for store in await client.stores() if store.pricing_types == ("rec", "med")]

    for store in both:
        menu = await client.menu(store.id, store.pricing_types)
        assert {product["_id"] for product in menu.products} == world.offered_products(store.id, 0)
    lists = [menu.walks[Kind(name, MenuMode.FULL)].products.keys() for name in ("rec", "med")]
    assert lists[0] != lists[1]


async def test_menu_that_changes_between_two_pages_is_fetched_completely(
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


async def test_unknown_store_has_an_empty_menu(client: UpstreamClient) -> None:
    menu = await client.menu("f" * 24)

    assert (menu.products, menu.total_count, menu.is_complete) == ([], 0, True)
