"""Routes of an app: scopes, connections and problem documents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import httpx2
import pytest
from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from rolecall import App, InvalidDeclaration
from rolecall.web import Anybody, Connects, Mounted, Operates, Reads, RequestRefused, build
from rolecall.web.api import ROUTERS
from rolecall.web.dashboard.pages import PAGES
from tests.web.doors import opened, unguarded

shops = APIRouter(prefix="/api/shops")


@shops.get("/clock")
async def clock(connects: Connects, _: Reads) -> list[int]:
    async with connects() as connection:
        return [row[0] async for row in await connection.execute("select 7")]


@shops.get("/broken")
async def broken(connects: Connects, _: Reads) -> None:
    async with connects() as connection:
        await connection.execute("select * from no_such_table")


@shops.get("/{shop_id:int}")
async def show(shop_id: int, _: Operates) -> None:
    raise RequestRefused(f"there is no shop {shop_id}", status=404, kind="shop-not-found")


def open_to_all() -> APIRouter:
    async def hello() -> str:
        return "hello"

    return APIRouter(routes=[APIRoute("/hello", hello)])


@pytest.fixture
async def http(database: str) -> AsyncIterator[httpx2.AsyncClient]:
    app, part = App("test"), App("part", routers=[shops])
    app.include(part)
    application = unguarded(database, app)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield client


async def test_routes_of_an_app_use_the_servers_pool(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/api/shops/clock")).json() == [7]


async def test_rejection_by_an_app_route_is_a_problem_document(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/shops/8")

    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["type"] == "urn:rolecall:shop-not-found"
    assert answer.json()["detail"] == "there is no shop 8"


async def test_database_error_in_an_app_route_is_a_problem_document(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/shops/broken")

    assert (answer.status_code, answer.json()["type"]) == (503, "urn:rolecall:schema-missing")


async def test_routes_of_an_app_are_in_the_same_openapi_document(http: httpx2.AsyncClient) -> None:
    paths = (await http.get("/openapi.json")).json()["paths"]

    assert {"/api/roles", "/api/shops/clock", "/api/shops/{shop_id}"} <= set(paths)


@pytest.mark.parametrize("where", ["router", "inside another"])
def test_route_without_a_scope_is_rejected(where: str) -> None:
    outer = APIRouter()
    outer.include_router(open_to_all())
    router = outer if where == "inside another" else open_to_all()

    with pytest.raises(InvalidDeclaration, match="/hello has no scope"):
        build("postgresql://", App("test", routers=[router]))


def test_scope_can_be_declared_for_a_whole_router() -> None:
    async def letting(_: Reads) -> None: ...

    router = APIRouter(dependencies=[Depends(letting)])
    router.include_router(open_to_all())

    assert "/hello" in build("postgresql://", App("test", routers=[router])).openapi()["paths"]


def test_mounting_anything_but_a_router_is_rejected() -> None:
    with pytest.raises(InvalidDeclaration, match="not a type"):
        build("postgresql://", App("test", routers=["builtins:dict"]))


class Till:
    """An object that an app mounts for its routes."""

    def __init__(self, coins: int) -> None:
        self.coins = coins


async def test_applications_with_the_same_router_serve_their_own_objects(database: str) -> None:
    router = APIRouter()

    @router.get("/coins")
    async def count(till: Annotated[Till, Depends(Mounted(Till))], _: Anybody) -> int:
        return till.coins

    counts = []
    for coins in (3, 5):
        app = App("test")
        app.mount(router, Till(coins))
        async with opened(database, app=app) as door:
            counts.append((await door.client.get("/coins")).json())

    assert counts == [3, 5]


def test_applications_share_their_routes() -> None:
    first, second = (build("postgresql://", App("test", routers=[shops])) for _ in range(2))

    assert all(one is other for one, other in zip(first.routes, second.routes, strict=True))


def test_routes_of_the_api_and_of_pages_are_analysed_once_by_their_routers() -> None:
    application = build("", App("shop"))

    own = [route for router in (*ROUTERS, *PAGES) for route in router.routes]
    assert [route for route in own if route not in application.routes] == []


def test_dependency_override_is_rejected() -> None:
    application = build("postgresql://", App("test"))

    with pytest.raises(TypeError):
        application.dependency_overrides[len] = int
