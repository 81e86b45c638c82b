"""The guide `mounting` puts the queue into another application, below a path."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import FastAPI
from starlette.routing import Mount

from rolecall import App
from rolecall.model.audit import Actor
from rolecall.model.operator.access import Scope
from rolecall.service.database import PooledDatabase
from rolecall.service.services import Services
from rolecall.testing import Clock
from rolecall.web.access.passwords import hash_password
from tests.guides.reading import module_of
from tests.sql.engine import Connection, Engine
from tests.web.doors import PASSWORD, SITE

BROWSER = {"accept": "text/html"}
OWN = {"origin": SITE, "referer": f"{SITE}/queue/admin/workers?state=idle"}


@pytest.fixture
def pool(connection: Connection, clock: Clock, database: str) -> Engine:
    pool = Engine(connection, clock, database)
    pool.declare({"name": "sums"})
    return pool


@pytest.fixture
def shop(pool: Engine) -> FastAPI:
    shop: FastAPI = module_of("mounting").shop_with_queue(pool.database, App("test"))

    @shop.get("/")
    async def window() -> str:
        return "the shop itself"

    return shop


@pytest.fixture
async def client(shop: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=shop)
    async with (
        shop.router.lifespan_context(shop),
        httpx2.AsyncClient(transport=transport, base_url=SITE) as client,
    ):
        [queue] = [mount.app for mount in shop.routes if isinstance(mount, Mount)]
        assert isinstance(queue, FastAPI)
        people = Services(PooledDatabase(queue.state.rolecall.pool, Actor(name="root", via="cli"))).people
        await people.add("ada", Scope.ADMIN, hash_password(PASSWORD))
        yield client


async def log_in(client: httpx2.AsyncClient, next_: str = "/queue/admin/workers") -> httpx2.Response:
    fields = {"name": "ada", "password": PASSWORD, "next": next_}
    return await client.post("/queue/login", data=fields, headers={"origin": SITE})


async def test_every_url_on_a_page_is_below_the_mount_path(client: httpx2.AsyncClient) -> None:
    await log_in(client)
    page = (await client.get("/queue/admin/workers")).text

    addresses = re.findall(r'(?:href|src|action|data-stream)="([^"#]*)"', page)

    assert len(addresses) > 10
    assert [address for address in addresses if address and not address.startswith("/queue/")] == []


async def test_static_files_are_served_below_the_mount_path(client: httpx2.AsyncClient) -> None:
    page = (await client.get("/queue/login")).text

    for address in re.findall(r'(?:href|src)="([^"]*/assets/[^"]*)"', page):
        assert (await client.get(address)).status_code == 200, address


async def test_anonymous_visitor_logs_in_there_and_is_redirected(client: httpx2.AsyncClient) -> None:
    redirected = await client.get("/queue/admin/workers?state=idle")
    led = await log_in(client, "/queue/admin/workers?state=idle")
    astray = await log_in(client, "/elsewhere")

    assert redirected.headers["location"] == "/queue/login?next=/queue/admin/workers%3Fstate%3Didle"
    assert led.headers["location"] == "/queue/admin/workers?state=idle"
    assert astray.headers["location"] == "/queue/"


async def test_form_is_processed_and_redirects_to_its_page(client: httpx2.AsyncClient, pool: Engine) -> None:
    worker = pool.worker("sums", name="north")
    await log_in(client)

    answer = await client.post(f"/queue/admin/workers/{worker}/drain", headers=OWN, data={"confirmed": "true"})

    assert answer.headers["location"] == "/queue/admin/workers?state=idle"
    assert "north claims no more tasks." in (await client.get("/queue/admin/workers")).text


async def test_cookie_is_named_after_the_mount_path(client: httpx2.AsyncClient) -> None:
    assert (await log_in(client)).headers["set-cookie"].startswith("rolecall-queue=rs_")


async def test_api_events_are_not_buffered(client: httpx2.AsyncClient) -> None:
    await log_in(client)
    answer = await client.get("/queue/api/workers", headers=BROWSER)

    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")


async def test_unknown_url_below_the_path_is_a_page_elsewhere_the_shops(client: httpx2.AsyncClient) -> None:
    inside, outside = await client.get("/queue/nothing", headers=BROWSER), await client.get("/nothing", headers=BROWSER)

    assert (inside.status_code, outside.status_code) == (404, 404)
    assert "There is no page at this address." in inside.text
    assert outside.json() == {"detail": "Not Found"}
    assert (await client.get("/")).json() == "the shop itself"
