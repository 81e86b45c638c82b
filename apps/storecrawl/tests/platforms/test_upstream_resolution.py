"""Stores are found by any known identifier; the web page is used only if the name is not enough."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.demo.upstream.stores import slugify
from storecrawl.platforms.dutchie import UpstreamClient, Way, slug_of
from storecrawl.platforms.dutchie.resolution import canonical_address, store_names
from storecrawl.platforms.errors import Blocked, NoEntryPoint, UnknownStore

from .conftest import QUICK, ClientFor, Responder, Serve

ONLY_ONCE = replace(QUICK, retries=0)


async def test_known_name_is_found_without_its_page(upstream: LocalUpstream, client: UpstreamClient) -> None:
    store = (await client.stores())[0]

    ways = [(await client.resolve(entry)).way for entry in (store.slug, store.id, store.menu_url or "")]

    assert ways == [Way.DIRECT] * 3
    assert "web page" not in upstream.stats()["operations"]


async def test_renamed_store_is_found_by_each_method_on_its_page(
    upstream: LocalUpstream, client: UpstreamClient
) -> None:
    stores = await client.stores()

    found = [await client.resolve(f"https://any.example/stores/old-{store.slug}?menuType=rec") for store in stores]

    assert [resolution.store.id for resolution in found] == [store.id for store in stores]
    assert Counter(resolution.way for resolution in found) == {Way.REDIRECT: 6, Way.CANONICAL: 3, Way.PAGE_DATA: 3}
    redirected_here = sum(number % 4 == 0 for number in range(len(stores)))
    assert upstream.stats()["operations"]["web page"] == len(stores) + redirected_here


async def test_store_without_a_page_is_searched_by_its_words(client: UpstreamClient) -> None:
    stores = await client.stores()
    names = Counter(store.name for store in stores)
    unplaced = next(s for s in stores if names[s.name] == 1 and slugify(s.name).lower() != s.slug.lower())

    found = await client.resolve(slugify(unplaced.name).lower())

    assert (found.store.id, found.way) == (unplaced.id, Way.SEARCH)


async def test_ambiguous_words_match_no_store(serve: Serve, client_for: ClientFor) -> None:

    async def respond(request: Request) -> Response:
        if request.url.path != "/graphql":
            return HTMLResponse("gone", 404)
        twins = [{"id": name, "name": "Green Door", "cName": f"green-door-{name}"} for name in "ab"]
        return JSONResponse({"data": {"filteredDispensaries": [], "dispensarySearch": {"results": twins}}})

    with pytest.raises(UnknownStore, match="green-door"):
        await client_for(await serve(respond)).resolve("green-door")


def blocked_pages(results: list[dict[str, str]]) -> Responder:
    async def respond(request: Request) -> Response:
        if request.url.path != "/graphql":
            return HTMLResponse("<h1>blocked</h1>", 403)
        return JSONResponse({"data": {"filteredDispensaries": [], "dispensarySearch": {"results": results}}})

    return respond


async def test_search_is_used_if_the_page_is_walled_off(serve: Serve, client_for: ClientFor) -> None:
    url = await serve(blocked_pages([{"id": "a", "name": "Green Door", "cName": "green-door-2"}]))

    assert (await client_for(url, ONLY_ONCE).resolve("green-door")).store.id == "a"


async def test_wall_is_reported_if_nothing_else_led_to_the_store(serve: Serve, client_for: ClientFor) -> None:
    with pytest.raises(Blocked):
        await client_for(await serve(blocked_pages([])), ONLY_ONCE).resolve("green-door")


async def test_entry_point_without_a_store_is_an_unknown_store(client: UpstreamClient) -> None:
    with pytest.raises(UnknownStore, match="no-such-store"):
        await client.resolve("https://menus.example/dispensary/no-such-store")


@pytest.mark.parametrize("entry", ["", "https://menus.example/about/us", "two words", "https://[::1/dispensary/x y"])
async def test_invalid_entry_point_is_rejected_before_any_request(
    upstream: LocalUpstream, client: UpstreamClient, entry: str
) -> None:
    with pytest.raises(NoEntryPoint):
        await client.resolve(entry)

    assert upstream.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("entry", "slug"),
    [
        ("green-door", "green-door"),
        ("acMFAfbvyQ9CKsrNy", "acMFAfbvyQ9CKsrNy"),
        ("https://menus.example/dispensary/green-door", "green-door"),
        ("https://menus.example/embedded-menu/green-door/products?x=1", "green-door"),
        ("https://menus.example/stores/Green-Door", "Green-Door"),
        ("//menus.example/base/stores/Green-Door/", "Green-Door"),
        ("https://menus.example/about/us", None),
        ("https://menus.example/stores/", None),
        ("", None),
    ],
)
def test_slug_within_a_menu_address_is_read(entry: str, slug: str | None) -> None:
    assert slug_of(entry) == slug


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ('<link rel="canonical" href="https://a.example/stores/x?a=1&amp;b=2">', "https://a.example/stores/x?a=1&b=2"),
        ("<LINK href='/dispensary/x' REL=canonical />", "/dispensary/x"),
        ('<link rel=icon href="/i.png"><link rel=canonical href=/stores/y>', "/stores/y"),
        ('<link rel="canonical">', None),
        ('<link rel="canonical" href="">', None),
        ("<p>nothing", None),
    ],
)
def test_canonical_address_of_a_page_is_read(text: str, address: str | None) -> None:
    assert canonical_address(text) == address


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ('{"props": {"pageProps": {"dispensary": {"id": "a", "cName": "b"}}}}', ["a", "b"]),
        ('{"props": {"pageProps": {"dispensary": {"id": 7, "cName": "b"}}}}', ["b"]),
        ('{"props": {"pageProps": {"dispensary": null}}}', []),
        ('{"props": [1]}', []),
        ('{"props": ', []),
        ("[" * 100_000, []),
    ],
)
def test_store_in_the_data_of_a_page_is_read(data: str, names: list[str]) -> None:
    page = f'<script nonce="x" id="__NEXT_DATA__" type="application/json">{data}</script><script>1</script>'

    assert store_names(page) == names
