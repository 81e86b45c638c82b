"""The local token: programs send it with each request, browsers open a session with it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.model.audit import AuditFilter
from rolecall.model.errors import ConfigError
from rolecall.model.operator.access import Scope
from rolecall.service.access import ensure_token
from rolecall.web import build
from rolecall.web.access.identity import LocalToken
from rolecall.web.http.requests import LOCAL_NAMES
from tests.web.doors import PASSWORD, Door, opened

Sql = psycopg.Connection[Any]

SITE = "http://127.0.0.1:8321"
PORT = 8321
WISH = {"name": "x", "scope": "read"}
FORWARDING = [
    "CF-Connecting-IP",
    "Fly-Client-IP",
    "Forwarded",
    "True-Client-IP",
    "Via",
    "X-AppEngine-User-IP",
    "X-Azure-ClientIP",
    "X-Client-IP",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-ProxyUser-Ip",
    "X-Real-IP",
]


@pytest.fixture
def token(tmp_path: Path) -> str:
    return ensure_token(tmp_path / "token")


def site_of(token: str) -> str:
    """Return the address under which browsers find a server with this token."""
    return f"http://{LocalToken(token).host}:{PORT}"


@pytest.fixture
async def door(database: str, token: str) -> AsyncIterator[Door]:
    """A server with the defaults of 127.0.0.1; the client uses its name for browsers."""
    async with opened(database, base_url=site_of(token), auth=AuthMode.token, token=token) as door:
        yield door


async def enter(door: Door, token: str, **more: str) -> httpx2.Response:
    return await door.client.get("/enter", params={"token": token, **more})


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def test_request_without_the_token_is_rejected(door: Door) -> None:
    """Every user of the machine can reach 127.0.0.1."""
    assert (await door.client.get("/api/me")).status_code == 401
    assert (await door.client.get("/")).headers["location"].startswith("/login")
    assert (await door.client.get("/api/me", headers=bearer("rl_" + "x" * 43))).status_code == 401


async def test_program_with_the_token_has_all_rights(door: Door, token: str) -> None:
    me = await door.client.get("/api/me", headers=bearer(token))
    made = await door.client.post("/api/keys", json=WISH, headers=bearer(token))

    assert me.json() == {"name": "local", "scope": "admin"}
    assert made.status_code == 201


def test_host_name_for_browsers_is_derived_from_the_token() -> None:
    names = {LocalToken(f"rl_{number:043}").host for number in range(20)}

    assert LocalToken(f"rl_{0:043}").host in names
    assert len(names) == 20
    assert all(re.fullmatch(r"rolecall-[a-z2-7]{12}\.localhost", name) for name in names)


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:9000", "[::1]:8321"])
async def test_browser_is_redirected_to_the_host_name_of_the_server(door: Door, token: str, host: str) -> None:
    entered = await door.client.get("/enter", params={"token": token, "next": "/roles"}, headers={"host": host})

    port = host.rpartition(":")[2]
    assert entered.status_code == 303
    assert entered.headers["location"] == f"http://{LocalToken(token).host}:{port}/enter?token={token}&next=%2Froles"
    assert "set-cookie" not in entered.headers


async def test_host_name_is_not_disclosed_without_the_token(database: str, token: str) -> None:
    """A page on another port of this machine could redirect a browser there, and receive its cookies."""
    async with opened(database, base_url=SITE, hosts=LOCAL_NAMES, auth=AuthMode.token, token=token) as door:
        answers = [
            await door.client.get(path, headers={"host": host})
            for host in ("127.0.0.1", "rolecall-aaaaaaaaaaaa.localhost")
            for path in ("/", "/login", "/enter", "/enter?token=rl_x", "/healthz", "/api/me")
        ]

    assert {421, 303, 200, 401} == {answer.status_code for answer in answers}
    assert not any(LocalToken(token).host in answer.text + str(answer.headers) for answer in answers)


async def test_cookie_is_accepted_only_under_the_host_name_of_the_server(door: Door, token: str) -> None:
    """Browsers send a cookie to all ports of a host."""
    kept = (await enter(door, token)).headers["set-cookie"].partition(";")[0]
    # The name of the host is decisive, not that of the cookie: try each name that the server uses.
    cookie = f"{kept}; rolecall={kept.partition('=')[2]}"
    hosts = (LocalToken(token).host, "127.0.0.1", "localhost")

    codes = [
        (await door.client.get("/api/me", headers={"host": f"{host}:{PORT}", "cookie": cookie})).status_code
        for host in hosts
    ]

    assert codes == [200, 401, 401]


async def test_cookie_login_under_another_host_name_is_rejected(door: Door) -> None:
    await door.person()
    shown = {"name": "ada", "password": PASSWORD}
    plain = {"host": f"127.0.0.1:{PORT}", "origin": SITE}

    by_api = await door.client.post("/api/login", json=shown, headers=plain)
    by_form = await door.client.post("/login", data=shown, headers=plain)
    page = await door.client.get("/login", headers=plain)

    assert (by_api.status_code, by_form.status_code) == (403, 403)
    assert "another host name" in by_api.json()["detail"]
    assert not any("rolecall" in each.headers.get("set-cookie", "") for each in (by_api, by_form))
    assert 'type="password"' not in page.text


async def test_token_session_is_listed_expires_when_idle_and_can_be_ended(
    door: Door, token: str, connection: Sql
) -> None:
    statuses = []

    async def ask() -> None:
        statuses.append((await door.client.get("/api/me")).status_code)

    await enter(door, token)
    listed = (await door.client.get("/api/sessions")).json()["items"]
    await ask()
    connection.execute("update rolecall.sessions set last_used_at = now() - interval '121 minutes'")
    await ask()
    await enter(door, token)
    await ask()
    (session,) = (await door.client.get("/api/sessions")).json()["items"]
    ended = await door.client.delete(f"/api/sessions/{session['id']}", headers={"origin": site_of(token)})
    await ask()

    assert [(each["person"], each["scope"]) for each in listed] == [(None, "admin")]
    assert ended.status_code == 204
    assert statuses == [200, 401, 200, 401]


async def test_session_of_one_token_is_rejected_with_another_token(database: str, token: str, connection: Sql) -> None:
    async with opened(database, base_url=site_of(token), auth=AuthMode.token, token=token) as door:
        cookie = (await enter(door, token)).headers["set-cookie"].partition(";")[0]
    other = "rl_" + "x" * 43
    async with (
        opened(database, base_url=site_of(other), auth=AuthMode.token, token=other) as renewed,
        opened(database, auth=AuthMode.keys) as of_keys,
    ):
        statuses = [
            (await each.client.get("/api/me", headers={"cookie": cookie})).status_code for each in (renewed, of_keys)
        ]

    assert statuses == [401, 401]


async def test_key_created_over_http_must_expire(door: Door, token: str) -> None:
    wishes = [{"name": "x", "scope": scope, "days": None} for scope in ("admin", "read")]

    refused = [await door.client.post("/api/keys", json=wish, headers=bearer(token)) for wish in wishes]
    made = await door.client.post("/api/keys", json=WISH, headers=bearer(token))

    assert [answer.status_code for answer in refused] == [422, 422]
    assert "a key created over HTTP must expire: give 1 to 121 days" in refused[0].json()["detail"]
    assert made.json()["key"]["expires_at"] is not None


async def test_browser_exchanges_the_token_for_a_cookie_and_is_redirected(door: Door, token: str) -> None:
    entered = await enter(door, token)
    page = await door.client.get("/")

    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert token not in entered.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(entered.headers["set-cookie"].split("; "))
    assert page.status_code == 200


@pytest.mark.parametrize(
    ("wanted", "leads_to"), [("/tasks/7", "/tasks/7"), ("//evil.example", "/"), ("https://evil.example", "/")]
)
async def test_login_redirects_only_to_addresses_on_this_host(
    door: Door, token: str, wanted: str, leads_to: str
) -> None:
    assert (await enter(door, token, next=wanted)).headers["location"] == leads_to


@pytest.mark.parametrize("shown", ["x", "rl_" + "x" * 43, "\ud800", "é"])
async def test_wrong_token_is_rejected(door: Door, shown: str) -> None:
    answer = await door.client.get("/enter", params={"token": shown.encode("utf-8", "surrogatepass")})

    assert answer.status_code == 401
    assert "not the token" in answer.text
    assert "set-cookie" not in answer.headers


async def test_wrong_token_is_recorded_without_its_value(door: Door) -> None:
    await enter(door, "rl_guessed")
    async with asyncio.timeout(30):
        while not (found := await door.services.audit.list(AuditFilter(action="keys.refused"))):
            await asyncio.sleep(0.01)

    assert found[-1].detail == {"what": "the local token"}
    assert "guessed" not in str(found)


async def test_token_attempts_are_rate_limited(database: str, token: str) -> None:
    async with opened(database, base_url=site_of(token), auth=AuthMode.token, token=token, logins_per_minute=2) as door:
        statuses = [(await enter(door, f"rl_{number}")).status_code for number in range(4)]
        entered = await enter(door, token)
        await door.person()
        logged_in = await door.log_in()

    assert [*statuses[:2], statuses[-1]] == [401, 401, 429]
    assert entered.status_code == 303
    assert logged_in.status_code == 204


async def test_page_of_another_site_cannot_try_a_token(door: Door) -> None:
    embedded = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}

    answer = await door.client.get("/enter", params={"token": "rl_x"}, headers=embedded)

    assert answer.status_code == 403


@pytest.mark.parametrize("headers", [{}, {"origin": "http://127.0.0.1:9999"}, {"sec-fetch-site": "same-site"}])
async def test_change_with_the_cookie_must_come_from_a_page_of_this_server(
    door: Door, token: str, headers: dict[str, str]
) -> None:
    await enter(door, token)

    refused = await door.client.post("/api/keys", json=WISH, headers=headers)
    done = await door.client.post("/api/keys", json=WISH, headers={"origin": site_of(token)})

    assert (refused.status_code, done.status_code) == (403, 201)


async def test_logout_ends_the_session_on_the_server(door: Door, token: str) -> None:
    cookie = (await enter(door, token)).headers["set-cookie"].partition(";")[0]

    left = await door.client.post("/logout", headers={"origin": site_of(token)})
    again = await door.client.get("/api/me", headers={"cookie": cookie})
    made = await door.client.post("/api/keys", json=WISH, headers={"cookie": cookie, "origin": site_of(token)})

    assert left.status_code == 303
    assert (again.status_code, made.status_code) == (401, 401)


async def test_keys_and_people_are_accepted_next_to_the_token(door: Door) -> None:
    await door.person(scope=Scope.READ)
    await door.log_in()

    assert (await door.client.get("/api/me")).json() == {"name": "ada", "scope": "read"}
    assert (await door.client.get("/api/me", headers=await door.key(Scope.OPERATE))).status_code == 200


@pytest.mark.parametrize("auth", [AuthMode.token, AuthMode.off])
@pytest.mark.parametrize("header", FORWARDING)
async def test_request_forwarded_by_another_server_is_rejected(
    database: str, token: str, header: str, auth: AuthMode
) -> None:
    async with opened(database, base_url=SITE, auth=auth, token=token) as door:
        answer = await door.client.get("/api/me", headers={header: "192.0.2.1", **bearer(token)})
        name = f"{LocalToken(token).host}:{PORT}"
        forwarded = {header: "192.0.2.1", "host": name}
        entered = await door.client.get("/enter", params={"token": token}, headers=forwarded)

    assert answer.status_code == 403
    assert "--auth keys" in answer.json()["detail"]
    assert "set-cookie" not in entered.headers


@pytest.mark.parametrize("auth", [AuthMode.token, AuthMode.off])
async def test_old_http_version_of_a_proxy_is_rejected(database: str, token: str, auth: AuthMode) -> None:
    async with opened(database, base_url=SITE, auth=auth, token=token) as door:
        old = httpx2.ASGITransport(app=lambda scope, *rest: door.application({**scope, "http_version": "1.0"}, *rest))
        async with httpx2.AsyncClient(transport=old, base_url=SITE) as client:
            answer = await client.get("/api/me", headers=bearer(token))
            alive = await client.get("/healthz")

    assert (answer.status_code, alive.status_code) == (403, 200)


async def test_person_cannot_have_the_name_of_the_local_caller(door: Door) -> None:
    with pytest.raises(ConfigError, match="reserved name"):
        await door.person("local")


def test_embedding_application_requires_keys_by_default() -> None:
    application = build("postgresql://", App("test"))

    assert application.state.rolecall.access.has_sessions
    assert application.state.rolecall.access.browser_host is None
    with pytest.raises(ConfigError, match="token"):
        build("postgresql://", App("test"), Settings(access=AccessSettings(auth=AuthMode.token)), hosts=LOCAL_NAMES)
