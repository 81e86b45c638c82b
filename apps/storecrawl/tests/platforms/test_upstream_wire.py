"""Requests on the wire: both forms, the operations and their variables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from storecrawl.platforms.dutchie import ClientOptions
from storecrawl.platforms.dutchie.operations import CITIES, PRODUCTS, STORE_SEARCH, STORES
from storecrawl.platforms.errors import UnknownStore

from .conftest import QUICK, ClientFor, Serve

ONLY_ONCE = replace(QUICK, retries=0)
NOTHING: dict[str, Any] = {
    "filteredDispensaries": [],
    "getAllCitiesByState": [],
    "dispensarySearch": {"results": []},
    "filteredProducts": {"products": [], "queryInfo": {"totalCount": 0, "totalPages": 0}},
}


class Scribe:
    """Returns nothing and records requests; without `knows_hashes` it requires texts."""

    def __init__(self, *, knows_hashes: bool = True) -> None:
        self.knows_hashes = knows_hashes
        self.paths: list[str] = []
        self.by_get: list[dict[str, Any]] = []
        self.by_post: list[dict[str, Any]] = []

    async def respond(self, request: Request) -> Response:
        self.paths.append(request.url.path)
        if request.method == "POST":
            self.by_post.append(await request.json())
        else:
            self.by_get.append(dict(request.query_params))
            if not self.knows_hashes:
                return JSONResponse({"errors": [{"message": "PersistedQueryNotFound"}]})
        return JSONResponse({"data": NOTHING})

    def variables(self, number: int = 0) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.by_get[number]["variables"])
        return read


@pytest.fixture
def scribe() -> Scribe:
    return Scribe()


async def test_endpoints_are_configurable(serve: Serve, client_for: ClientFor, scribe: Scribe) -> None:
    url = await serve(scribe.respond)
    for options in (ONLY_ONCE, replace(ONLY_ONCE, stores_path="/api-2/graphql", menus_path="/api-4/graphql")):
        client = client_for(url, replace(options, backoff=0.0))
        await client.stores()
        await client.menu("a" * 24)

    assert list(dict.fromkeys(scribe.paths)) == ["/graphql", "/api-3/graphql", "/api-2/graphql", "/api-4/graphql"]


async def test_request_by_hash_is_a_get_with_three_parameters(
    serve: Serve, client_for: ClientFor, scribe: Scribe
) -> None:
    await client_for(await serve(scribe.respond)).cities("AZ")

    [request_query] = scribe.by_get
    assert request_query == {
        "operationName": "getAllCitiesByState",
        "variables": '{"state":"AZ"}',
        "extensions": f'{{"persistedQuery":{{"version":1,"sha256Hash":"{CITIES.digest}"}}}}',
    }


async def test_request_by_text_is_a_post_with_its_hash(serve: Serve, client_for: ClientFor) -> None:
    scribe = Scribe(knows_hashes=False)

    await client_for(await serve(scribe.respond)).cities("AZ")

    assert scribe.by_post == [
        {
            "operationName": "getAllCitiesByState",
            "variables": {"state": "AZ"},
            "query": CITIES.text,
            "extensions": {"persistedQuery": {"version": 1, "sha256Hash": CITIES.digest}},
        }
    ]


def test_client_defaults_match_the_observed_values() -> None:
    options = ClientOptions()

    assert (options.retries, options.backoff, options.timeout) == (3, 2.0, 30.0)
    assert (options.page_pause, options.page_cap, options.page_size) == (0.4, 200, 100)


async def test_store_is_requested_by_slug_or_id(serve: Serve, client_for: ClientFor, scribe: Scribe) -> None:
    with pytest.raises(UnknownStore):
        await client_for(await serve(scribe.respond)).store("green-door")

    assert scribe.by_get[0]["operationName"] == STORES.name == "ConsumerDispensaries"
    assert scribe.variables() == {"dispensaryFilter": {"cNameOrID": "green-door"}}


async def test_stores_of_an_area_are_requested_as_active_only(
    serve: Serve, client_for: ClientFor, scribe: Scribe
) -> None:
    await client_for(await serve(scribe.respond)).stores(state="AZ", city="Mesa")

    assert scribe.variables() == {"dispensaryFilter": {"state": "AZ", "city": "Mesa", "activeOnly": True}}


async def test_cities_are_requested_by_state(serve: Serve, client_for: ClientFor, scribe: Scribe) -> None:
    assert await client_for(await serve(scribe.respond)).cities("AZ") == []

    assert (scribe.by_get[0]["operationName"], scribe.variables()) == ("getAllCitiesByState", {"state": "AZ"})


async def test_search_has_a_term_and_a_limit(serve: Serve, client_for: ClientFor, scribe: Scribe) -> None:
    assert await client_for(await serve(scribe.respond)).search("green", limit=7) == []

    assert scribe.by_get[0]["operationName"] == STORE_SEARCH.name == "DispensarySearch"
    assert scribe.variables() == {"searchTerm": "green", "limit": 7}


async def test_page_of_products_is_requested_by_number_and_size(
    serve: Serve, client_for: ClientFor, scribe: Scribe
) -> None:
    await client_for(await serve(scribe.respond), replace(ONLY_ONCE, page_size=50)).menu("a" * 24)

    variables = scribe.variables()
    assert scribe.by_get[0]["operationName"] == PRODUCTS.name == "FilteredProducts"
    assert variables.keys() == {"productsFilter", "page", "perPage", "includeEnterpriseSpecials"}
    assert (variables["page"], variables["perPage"], variables["includeEnterpriseSpecials"]) == (0, 50, False)


async def test_two_modes_differ_only_in_the_thresholds(serve: Serve, client_for: ClientFor, scribe: Scribe) -> None:
    await client_for(await serve(scribe.respond), ONLY_ONCE).menu("a" * 24, ("med",))

    shown, full = (scribe.variables(number)["productsFilter"] for number in (0, -1))
    assert shown == {
        "dispensaryId": "a" * 24,
        "pricingType": "med",
        "strainTypes": [],
        "subcategories": [],
        "types": [],
        "Status": "Active",
        "useCache": False,
        "isDefaultSort": True,
        "sortBy": None,
        "sortDirection": 1,
        "bypassOnlineThresholds": False,
        "isKioskMenu": False,
        "removeProductsBelowOptionThresholds": True,
        "platformType": "ONLINE_MENU",
        "preOrderType": None,
    }
    assert full == {**shown, "bypassOnlineThresholds": True, "removeProductsBelowOptionThresholds": False}
