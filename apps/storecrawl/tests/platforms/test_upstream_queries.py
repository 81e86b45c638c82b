"""Persisted queries, request forms and the schema."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import msgspec
import pytest
import pytest_asyncio
from graphql import parse, validate
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.demo.upstream.answers import Answerer, GraphqlRequest
from storecrawl.demo.upstream.queries import QueryStore
from storecrawl.demo.upstream.schema import make_schema
from storecrawl.demo.upstream.world import World
from storecrawl.platforms.dutchie import UpstreamClient
from storecrawl.platforms.dutchie.operations import OPERATIONS, PRODUCTS, STORES, Operation

from .conftest import QUICK, SMALL_WORLD, ClientFor, Serve

STALE_HASH = "ee29c060826dc41c527e470e9ae502c9b2c169720faa0a9f5d25e1b9a530a4a0"
PREFLIGHT = {"apollo-require-preflight": "true"}


@pytest_asyncio.fixture
async def http(upstream: LocalUpstream) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=upstream.url, trust_env=False) as client:
        yield client


def hash_request(operation: Operation, variables: dict[str, Any], digest: str) -> dict[str, str]:
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": digest}}
    return {
        "operationName": operation.name,
        "variables": json.dumps(variables),
        "extensions": json.dumps(extensions),
    }


def first_page(store: str) -> dict[str, Any]:
    return {"productsFilter": {"dispensaryId": store, "Status": "Active"}, "page": 0, "perPage": 50}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_client_operation_is_valid_in_the_schema(operation: Operation) -> None:
    assert validate(make_schema(), parse(operation.text)) == []


def test_products_operation_requests_complete_products() -> None:
    assert QueryStore(make_schema()).find(PRODUCTS.text, None).whole_products


def test_spliced_products_equal_products_executed_field_by_field() -> None:
    world = World(SMALL_WORLD)
    store = world.directory.open_until(0)[0].id
    executed_text = PRODUCTS.text.replace("products {", "products @include(if: true) {")
    requests = [GraphqlRequest(query=text, variables=first_page(store)) for text in (PRODUCTS.text, executed_text)]

    spliced, executed = (msgspec.json.decode(Answerer(world).answer(request).body) for request in requests)

    assert spliced == executed
    assert len(spliced["data"]["filteredProducts"]["products"]) == 50


async def test_partial_selection_returns_only_the_requested_fields(
    http: httpx2.AsyncClient, client: UpstreamClient
) -> None:
    store = (await client.stores())[0].id
    query = "query Q($f: ProductsFilter!) { filteredProducts(filter: $f) { products { Name } } }"

    answer = await http.post("/graphql", json={"query": query, "variables": {"f": {"dispensaryId": store}}})

    assert {tuple(row) for row in answer.json()["data"]["filteredProducts"]["products"]} == {("Name",)}


async def test_unknown_hash_leads_to_a_request_with_the_query_text(
    upstream: LocalUpstream, client: UpstreamClient
) -> None:
    await client.stores()
    asked_at_first = upstream.stats()["requests"]
    await client.stores()

    assert (asked_at_first, upstream.stats()["requests"]) == (2, 3)


async def test_rotated_hash_costs_one_more_request(upstream: LocalUpstream, client: UpstreamClient) -> None:
    await client.stores()
    upstream.forget_queries()

    await client.stores()

    assert upstream.stats()["requests"] == 4


async def test_stale_configured_hash_is_replaced_by_the_built_in_one(
    upstream: LocalUpstream, client_for: ClientFor
) -> None:
    client = client_for(upstream.url, replace(QUICK, hashes={STORES.name: (STALE_HASH, "0" * 64)}))
    await client.stores()
    asked_at_first = upstream.stats()["requests"]
    await client.stores()

    assert (asked_at_first, upstream.stats()["requests"]) == (4, 5)


async def test_accepted_hash_is_tried_first_from_then_on(serve: Serve, client_for: ClientFor) -> None:
    """Hashes rotate, and an upstream that accepts no texts knows only some of the configured ones."""
    digests: list[str] = []

    async def respond(request: Request) -> Response:
        digests.append(json.loads(request.query_params["extensions"])["persistedQuery"]["sha256Hash"])
        if digests[-1] == "b" * 64:
            return JSONResponse({"data": {"filteredDispensaries": []}})
        return JSONResponse({"errors": [{"message": "PersistedQueryNotFound"}]})

    client = client_for(await serve(respond), replace(QUICK, hashes={STORES.name: ("a" * 64, "b" * 64)}))
    await client.stores()
    await client.stores()

    assert [digest[0] for digest in digests] == ["a", "b", "b"]


@pytest.mark.parametrize(("operation", "status"), [(STORES, 200), (PRODUCTS, 400)], ids=["stores", "products"])
async def test_unknown_hash_has_the_error_code_of_apollo(
    http: httpx2.AsyncClient, operation: Operation, status: int
) -> None:
    answer = await http.get("/api-3/graphql", params=hash_request(operation, {}, STALE_HASH), headers=PREFLIGHT)

    assert answer.status_code == status
    assert answer.json()["errors"][0]["message"] == "PersistedQueryNotFound"
    assert answer.json()["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"


async def test_get_request_without_the_preflight_header_is_rejected(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/graphql", params=hash_request(STORES, {}, STORES.digest))

    assert answer.status_code == 400


async def test_non_utf8_body_is_rejected(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/graphql", content=b'{"query": "\xff"}')

    assert answer.status_code == 400


async def test_query_text_with_a_foreign_hash_is_rejected(http: httpx2.AsyncClient) -> None:
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": STALE_HASH}}

    answer = await http.post("/graphql", json={"query": STORES.text, "extensions": extensions})

    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"query": "query {"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "query { nothing }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": STORES.text, "variables": {"dispensaryFilter": 5}}, "BAD_USER_INPUT"),
        ({}, "BAD_REQUEST"),
        ({"variables": 7}, "BAD_REQUEST"),
    ],
)
async def test_bad_request_has_its_error_code(http: httpx2.AsyncClient, document: dict[str, Any], code: str) -> None:
    answer = await http.post("/graphql", json=document)

    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, code)


@pytest.mark.parametrize(
    ("criteria", "field", "expected"),
    [
        ({"types": ["Flower"]}, "type", {"Flower"}),
        ({"strainTypes": ["Indica"]}, "strainType", {"Indica"}),
        ({"Status": "Inactive"}, "Status", {"Inactive"}),
    ],
)
def test_filter_returns_only_matching_products(criteria: dict[str, Any], field: str, expected: set[str]) -> None:
    world = World(replace(SMALL_WORLD, menu_median=400))
    store = max(world.directory.open_until(0), key=lambda candidate: candidate.menu_size).id

    page = world.page({"dispensaryId": store, "bypassOnlineThresholds": True, **criteria}, 0, 100)

    assert {msgspec.json.decode(product)[field] for product in page.products} == expected


def test_products_can_be_found_by_their_ids() -> None:
    world = World(SMALL_WORLD)
    criteria = {"dispensaryId": world.directory.open_until(0)[0].id}
    wanted = msgspec.json.decode(world.page(criteria, 0, 100).products[3])["_id"]

    page = world.page({**criteria, "productIds": [wanted]}, 0, 100)

    assert page.total_count == 1
