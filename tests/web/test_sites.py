"""Pages of other sites cannot act through cookies, the login, or a server with open access."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.web import build
from rolecall.web.http.requests import LOCAL_NAMES
from tests.web.doors import SITE, Door, opened

WISH = {"name": "x", "scope": "read"}
STRANGE = [
    {"origin": "https://elsewhere.example"},
    {"origin": "null"},
    {"origin": "http://["},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "same-site", "origin": "http://other.test"},
]
OWN = [{"origin": SITE}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "same-origin", "origin": SITE}]


@pytest.fixture
async def local(database: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A server without authentication, as with `--auth off` on 127.0.0.1."""
    application = build(database, App("test"), Settings(access=AccessSettings(auth=AuthMode.off)), hosts=LOCAL_NAMES)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
    ):
        yield client


@pytest.mark.parametrize("headers", [*STRANGE, {}])
async def test_change_with_a_cookie_must_come_from_a_page_of_this_site(door: Door, headers: dict[str, str]) -> None:
    await door.person()
    await door.log_in()

    answer = await door.client.post("/api/keys", json=WISH, headers=headers)

    assert answer.status_code == 403
    assert await door.services.keys.list() == []


@pytest.mark.parametrize("headers", OWN)
async def test_page_of_this_site_can_make_changes(door: Door, headers: dict[str, str]) -> None:
    await door.person()
    await door.log_in()

    assert (await door.client.post("/api/keys", json=WISH, headers=headers)).status_code == 201


async def test_trusted_site_can_also_make_changes(database: str) -> None:
    async with opened(database, trusted_origins=frozenset({"https://work.example"})) as door:
        await door.person()
        await door.log_in()
        trusted = {"origin": "https://work.example", "sec-fetch-site": "cross-site"}

        assert (await door.client.post("/api/keys", json=WISH, headers=trusted)).status_code == 201


@pytest.mark.parametrize("headers", STRANGE)
async def test_another_site_cannot_log_in_a_person(door: Door, headers: dict[str, str]) -> None:
    await door.person()

    answer = await door.client.post("/api/login", json={"name": "ada", "password": "x"}, headers=headers)

    assert answer.status_code == 403


async def test_read_request_needs_no_origin_header(door: Door) -> None:
    await door.person()
    await door.log_in()

    assert (await door.client.get("/api/keys", headers={"sec-fetch-site": "cross-site"})).status_code == 200


async def test_no_other_site_can_read_a_response(door: Door) -> None:
    asking = {"origin": "https://elsewhere.example", "access-control-request-method": "POST"}

    answer = await door.client.options("/api/keys", headers=asking)

    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("headers", STRANGE)
async def test_server_without_authentication_rejects_changes_from_other_sites(
    local: httpx2.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await local.post("/api/keys", json=WISH, headers=headers)).status_code == 403


@pytest.mark.parametrize("headers", [{}, {"origin": "http://127.0.0.1:8321"}])
async def test_server_without_authentication_serves_this_machine(
    local: httpx2.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await local.post("/api/keys", json=WISH, headers=headers)).status_code == 201


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "", "[::2]", "a:b"])
async def test_host_name_rebound_to_this_address_is_rejected(local: httpx2.AsyncClient, host: str) -> None:
    answer = await local.get("/api/me", headers={"host": host})

    assert answer.status_code == 421
    assert answer.headers["x-frame-options"] == "DENY"


async def test_request_with_several_host_headers_is_rejected(local: httpx2.AsyncClient) -> None:
    """A proxy in front of this server may have checked another one of them."""
    answer = await local.get("/api/me", headers=[("host", "127.0.0.1"), ("host", "evil.example")])

    assert (answer.status_code, answer.json()["type"]) == (400, "urn:rolecall:several-hosts")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8321", "[::1]:8321", "[::1]"])
async def test_host_names_of_this_machine_are_accepted(local: httpx2.AsyncClient, host: str) -> None:
    assert (await local.get("/api/me", headers={"host": host})).json() == {"name": "local", "scope": "admin"}


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For"])
async def test_server_without_authentication_rejects_forwarded_requests(local: httpx2.AsyncClient, header: str) -> None:
    answer = await local.get("/api/me", headers={header: "192.0.2.1"})

    assert answer.status_code == 403
    assert "--auth keys" in answer.json()["detail"]
