"""This machine comes in by its token: a program shows it, a browser changes it for a cookie."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.model.access import Scope
from rolecall.model.audit import AuditFilter
from rolecall.model.errors import ConfigError
from rolecall.service.access import keep_token
from rolecall.web import build
from rolecall.web.http import LOCAL_NAMES
from rolecall.web.identity import LocalToken
from tests.web.doors import Door, opened

SITE = "http://127.0.0.1:8321"
COOKIE = "rolecall-local-8321"
WISH = {"name": "x", "scope": "read"}
FORWARDING = [
    "CF-Connecting-IP",
    "Forwarded",
    "True-Client-IP",
    "Via",
    "X-Client-IP",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Real-IP",
]


@pytest.fixture
def token(tmp_path: Path) -> str:
    return keep_token(tmp_path / "token")


@pytest.fixture
async def door(database: str, token: str) -> AsyncIterator[Door]:
    """A server as it stands at 127.0.0.1 unless somebody says otherwise."""
    async with opened(database, base_url=SITE, auth=AuthMode.token, token=token) as door:
        yield door


async def enter(door: Door, token: str, **more: str) -> httpx2.Response:
    return await door.client.get("/enter", params={"token": token, **more})


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def test_nobody_comes_in_without_the_token(door: Door) -> None:
    """Whoever has an account on the machine reaches 127.0.0.1."""
    assert (await door.client.get("/api/me")).status_code == 401
    assert (await door.client.get("/")).headers["location"].startswith("/login")
    assert (await door.client.get("/api/me", headers=bearer("rl_" + "x" * 43))).status_code == 401


async def test_a_program_that_shows_the_token_may_do_everything(door: Door, token: str) -> None:
    me = await door.client.get("/api/me", headers=bearer(token))
    made = await door.client.post("/api/keys", json=WISH, headers=bearer(token))

    assert me.json() == {"name": "local", "scope": "admin"}
    assert made.status_code == 201


async def test_a_browser_changes_the_token_for_a_cookie_and_forgets_the_address(door: Door, token: str) -> None:
    entered = await enter(door, token)
    page = await door.client.get("/")

    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert token not in entered.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(entered.headers["set-cookie"].split("; "))
    assert page.status_code == 200


@pytest.mark.parametrize(
    ("wanted", "leads_to"), [("/tasks/7", "/tasks/7"), ("//evil.example", "/"), ("https://evil.example", "/")]
)
async def test_a_login_leads_to_the_address_asked_for_on_this_host_only(
    door: Door, token: str, wanted: str, leads_to: str
) -> None:
    assert (await enter(door, token, next=wanted)).headers["location"] == leads_to


@pytest.mark.parametrize("shown", ["x", "rl_" + "x" * 43, "\ud800", "é"])
async def test_a_wrong_token_opens_nothing(door: Door, shown: str) -> None:
    answer = await door.client.get("/enter", params={"token": shown.encode("utf-8", "surrogatepass")})

    assert answer.status_code == 401
    assert "not the token" in answer.text
    assert "set-cookie" not in answer.headers


async def test_a_wrong_token_is_written_down_without_it(door: Door) -> None:
    await enter(door, "rl_guessed")
    async with asyncio.timeout(30):
        while not (found := await door.services.audit.list(AuditFilter(action="keys.refused"))):
            await asyncio.sleep(0.01)

    assert found[-1].detail == {"what": "the local token"}
    assert "guessed" not in str(found)


async def test_tokens_are_not_tried_without_end(database: str, token: str) -> None:
    async with opened(database, base_url=SITE, auth=AuthMode.token, token=token, logins_per_minute=2) as door:
        statuses = [(await enter(door, f"rl_{number}")).status_code for number in range(4)]
        entered = await enter(door, token)

    assert [*statuses[:2], statuses[-1]] == [401, 401, 429]
    assert entered.status_code == 303


@pytest.mark.parametrize("headers", [{}, {"origin": "http://127.0.0.1:9999"}, {"sec-fetch-site": "same-site"}])
async def test_with_the_cookie_a_change_must_come_from_a_page_of_this_server(
    door: Door, token: str, headers: dict[str, str]
) -> None:
    """Browsers send a cookie to all ports of a host, and take these for one site."""
    await enter(door, token)

    refused = await door.client.post("/api/keys", json=WISH, headers=headers)
    done = await door.client.post("/api/keys", json=WISH, headers={"origin": SITE})

    assert (refused.status_code, done.status_code) == (403, 201)


async def test_a_cookie_ends_by_itself_and_with_the_token(
    door: Door, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_another = LocalToken("rl_" + "x" * 43, 60).stamp()
    stamp = LocalToken(token, 60).stamp()
    later = str(int(stamp.partition(".")[0]) + 1) + "." + stamp.partition(".")[2]
    kept = [stamp, of_another, later, "", "x", "9" * 5_000]

    async def statuses() -> list[int]:
        return [(await door.client.get("/api/me", headers={"cookie": f"{COOKIE}={one}"})).status_code for one in kept]

    assert await statuses() == [200, 401, 401, 401, 401, 401]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert await statuses() == [401] * 6


async def test_after_logging_out_nobody_is_logged_in_again_by_themselves(door: Door, token: str) -> None:
    await enter(door, token)

    left = await door.client.post("/logout", headers={"origin": SITE})

    assert left.status_code == 303
    assert (await door.client.get("/api/me")).status_code == 401


async def test_keys_and_people_come_in_beside_the_token(door: Door) -> None:
    await door.person(scope=Scope.READ)
    await door.log_in()

    assert (await door.client.get("/api/me")).json() == {"name": "ada", "scope": "read"}
    assert (await door.client.get("/api/me", headers=await door.key(Scope.OPERATE))).status_code == 200


@pytest.mark.parametrize("auth", [AuthMode.token, AuthMode.off])
@pytest.mark.parametrize("header", FORWARDING)
async def test_a_request_through_another_server_is_refused(
    database: str, token: str, header: str, auth: AuthMode
) -> None:
    """What stands in front of it may let a whole network in."""
    async with opened(database, base_url=SITE, auth=auth, token=token) as door:
        answer = await door.client.get("/api/me", headers={header: "192.0.2.1", **bearer(token)})
        entered = await door.client.get("/enter", params={"token": token}, headers={header: "192.0.2.1"})

    assert answer.status_code == 403
    assert "--auth keys" in answer.json()["detail"]
    assert "set-cookie" not in entered.headers


@pytest.mark.parametrize("auth", [AuthMode.token, AuthMode.off])
async def test_the_old_http_of_servers_in_front_is_refused(database: str, token: str, auth: AuthMode) -> None:
    """Nginx speaks it unless it is told otherwise, and names nobody."""
    async with opened(database, base_url=SITE, auth=auth, token=token) as door:
        old = httpx2.ASGITransport(app=lambda scope, *rest: door.application({**scope, "http_version": "1.0"}, *rest))
        async with httpx2.AsyncClient(transport=old, base_url=SITE) as client:
            answer = await client.get("/api/me", headers=bearer(token))
            alive = await client.get("/healthz")

    assert (answer.status_code, alive.status_code) == (403, 200)


async def test_nobody_can_bear_the_name_of_this_machines_door(door: Door) -> None:
    with pytest.raises(ConfigError, match="stands for"):
        await door.person("local")


def test_an_application_of_somebody_elses_asks_for_keys_unless_it_is_said_otherwise() -> None:
    application = build("postgresql://", App("test"))

    assert application.state.rolecall.access.asks
    assert not application.state.rolecall.access.takes_token
    with pytest.raises(ConfigError, match="token"):
        build("postgresql://", App("test"), Settings(access=AccessSettings(auth=AuthMode.token)), hosts=LOCAL_NAMES)
