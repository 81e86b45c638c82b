"""Repeated guesses lock out the guesser and not the user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from rolecall.model.errors import PersonNotFound
from tests.web.doors import PASSWORD, Door, opened

BROWSER = "rolecall-browser"


@pytest.fixture
async def door(database: str) -> AsyncIterator[Door]:
    """A server with a lock on names only, without rate limits on addresses."""
    async with opened(database, logins_per_minute=1_000) as door:
        await door.person()
        yield door


@asynccontextmanager
async def browser(door: Door, address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Return a browser with this address."""
    transport = httpx2.ASGITransport(app=door.application, client=(address, 1))
    async with httpx2.AsyncClient(transport=transport, base_url=str(door.client.base_url)) as client:
        yield client


async def log_in(client: httpx2.AsyncClient, password: str = PASSWORD, name: str = "ada") -> int:
    return (await client.post("/api/login", json={"name": name, "password": password})).status_code


async def guess(door: Door, address: str, number: int = 10, name: str = "ada") -> list[int]:
    """Log in this many times with wrong passwords."""
    async with browser(door, address) as client:
        return [await log_in(client, "wrong", name) for _ in range(number)]


async def test_failed_logins_lock_out_the_guesser_and_not_the_person(door: Door) -> None:
    assert await guess(door, "192.0.2.66", 11) == [401] * 10 + [429]

    async with browser(door, "192.0.2.1") as at_home, browser(door, "192.0.2.66") as beside_him:
        assert await log_in(at_home) == 204
        assert await log_in(beside_him) == 429


async def test_distributed_guesses_lock_out_strangers_and_not_a_known_browser(door: Door) -> None:
    async with browser(door, "192.0.2.1") as known, browser(door, "192.0.2.2") as strange:
        assert await log_in(known) == 204
        known.cookies.delete("rolecall")
        for number in range(11):
            await guess(door, f"198.51.100.{number}")

        assert await log_in(strange) == 429
        assert await log_in(known) == 204


async def test_known_browser_has_no_more_login_attempts_than_others(door: Door) -> None:
    async with browser(door, "192.0.2.1") as known:
        await log_in(known)

        assert [await log_in(known, "wrong") for _ in range(11)] == [401] * 10 + [429]


async def test_known_browser_cookie_grants_no_access_and_is_hidden_from_scripts(door: Door) -> None:
    entered = await door.log_in()
    [cookie] = [each for each in entered.headers.get_list("set-cookie") if each.startswith(f"{BROWSER}=")]
    kept = door.client.cookies[BROWSER]
    again = await door.log_in()

    assert {"HttpOnly", "SameSite=strict", "Max-Age=15552000"} <= set(cookie.split("; "))
    assert BROWSER not in again.headers["set-cookie"].replace("rolecall=", "")
    door.client.cookies.delete("rolecall")
    assert (await door.client.get("/api/me")).status_code == 401
    assert (await door.client.get("/api/me", headers={"authorization": f"Bearer {kept}"})).status_code == 401


async def test_unlocked_person_can_log_in_again_immediately(door: Door) -> None:
    await guess(door, "192.0.2.1")
    async with browser(door, "192.0.2.1") as client:
        assert await log_in(client) == 429
        await door.services.people.unlock("ada")
        assert await log_in(client) == 204

    with pytest.raises(PersonNotFound):
        await door.services.people.unlock("eve")
