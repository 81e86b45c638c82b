"""A menu is fetched whole: every page, every product once, both modes (covers SPEC C2-5, C2-7, C2-8)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.upstream import MenuMode, RawMenu, SchemaDrift, UpstreamClient
from storecrawl.upstream.menu import merge_documents
from storecrawl.upstream.pages import Page, page_of, walk_pages, walk_twice_if_short
from storecrawl.upstream.retry import RetryRule

from .conftest import QUICK, ClientFor

RULE = RetryRule(QUICK, Random(1))


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


def page(ids: str, total_count: int, total_pages: int) -> Page:
    products: list[dict[str, Any]] = [{"_id": name} for name in ids]
    return Page(body=b"", products=products, total_count=total_count, total_pages=total_pages)


class Book:
    """Pages served from a list, over and over; `asked` are the page numbers in turn."""

    def __init__(self, *pages: Page) -> None:
        self.pages = pages
        self.asked: list[int] = []

    async def fetch(self, number: int) -> Page:
        self.asked.append(number)
        return self.pages[number]


async def test_the_walk_stops_at_an_empty_page() -> None:
    book = Book(page("ab", 9, 5), page("", 9, 5))

    walk = await walk_pages(book.fetch, QUICK, RULE)

    assert (book.asked, walk.is_complete) == ([0, 1], False)


async def test_the_walk_stops_when_all_products_are_collected() -> None:
    book = Book(page("abc", 3, 5))

    await walk_pages(book.fetch, QUICK, RULE)

    assert book.asked == [0]


async def test_the_walk_stops_at_the_page_cap() -> None:
    book = Book(*(page(name, 9, 9) for name in "abcdefghi"))

    walk = await walk_twice_if_short(book.fetch, replace(QUICK, page_cap=4), RULE)

    assert (book.asked, len(walk.products)) == ([0, 1, 2, 3], 4)


async def test_a_walk_that_falls_short_is_walked_once_more() -> None:
    book = Book(page("ab", 4, 2), page("bc", 4, 2))

    walk = await walk_twice_if_short(book.fetch, QUICK, RULE)

    assert (book.asked, list(walk.products)) == ([0, 1, 0, 1], ["a", "b", "c"])


async def test_the_product_without_any_key_is_kept_for_the_normalizer_to_judge() -> None:
    keyless = Page(body=b"", products=[{"Name": "x"}, {"Name": "y"}], total_count=2, total_pages=1)

    walk = await walk_pages(Book(keyless).fetch, QUICK, RULE)

    assert [product["Name"] for product in walk.products.values()] == ["x", "y"]


KNOWN_PRODUCT = {"_id": "a", "id": "a", "Name": "x", "Options": [], "Prices": [], "Status": "", "type": ""}


def root(*products: dict[str, Any]) -> dict[str, Any]:
    return {"products": list(products), "queryInfo": {"totalCount": 2, "totalPages": 1}}


@pytest.mark.parametrize(
    "missing", [("_id", "id"), ("Name",), ("Options",), ("Prices",), ("Status",), ("type",)], ids=str
)
def test_a_field_that_all_products_of_a_page_lack_is_a_drift(missing: tuple[str, ...]) -> None:
    drifted = {name: value for name, value in KNOWN_PRODUCT.items() if name not in missing}

    with pytest.raises(SchemaDrift):
        page_of(b"", root(drifted, drifted))


def test_a_field_that_one_product_lacks_is_no_drift() -> None:
    assert len(page_of(b"", root({"_id": "b"}, KNOWN_PRODUCT)).products) == 2


def test_an_empty_page_is_no_drift() -> None:
    assert page_of(b"", root()).products == []


def test_of_two_documents_the_one_with_more_priced_options_wins_whole() -> None:
    shown = {"Options": ["1g"], "Prices": [10], "recSpecialPrices": [8], "brandName": "Loam"}
    full = {"Options": ["1g", "2g"], "Prices": [10, 19], "recSpecialPrices": [], "brandName": None}

    merged = merge_documents(shown, full)

    assert merged == {**full, "brandName": "Loam"}


def test_a_full_document_without_prices_does_not_displace_prices() -> None:
    shown = {"Options": ["1g"], "Prices": [10]}
    full = {"Options": ["1g", "2g"], "Prices": [], "isBelowThreshold": True}

    assert merge_documents(shown, full) == {**shown, "isBelowThreshold": True}
