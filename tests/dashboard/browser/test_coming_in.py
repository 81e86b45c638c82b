"""A person comes in, looks around, follows a link from elsewhere, and goes out again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.db.connect import connect_async
from rolecall.model.access import Scope
from rolecall.model.audit import Actor
from rolecall.service.access import keep_token
from rolecall.service.database import OneConnection
from rolecall.service.services import Services
from rolecall.web import build
from rolecall.web.http import LOCAL_NAMES
from rolecall.web.passwords import hash_password
from tests.dashboard.browser.sites import Site, serving
from tests.dashboard.crews import join
from tests.sql.engine import Engine
from tests.web.doors import PASSWORD

ELSEWHERE = "http://chat.example/"


@pytest.fixture
def locked(database: str, app: App) -> Iterator[Site]:
    """A server that asks who comes in."""
    with serving(build(database, app, Settings(access=AccessSettings(auth=AuthMode.keys)))) as site:
        yield site


async def test_the_address_with_the_token_opens_the_dashboard_and_leaves_it_behind(
    browser: Browser, database: str, app: App, tmp_path: Path
) -> None:
    token = keep_token(tmp_path / "token")
    access = AccessSettings(auth=AuthMode.token, token=token)
    with serving(build(database, app, Settings(access=access), hosts=LOCAL_NAMES)) as site:
        context = await browser.new_context(base_url=site.address)
        page = await context.new_page()

        await page.goto(f"/enter?token={token}")
        await expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        await expect(page.locator("#stream-state[data-state=on]")).to_be_attached()
        address = page.url
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        await expect(page.get_by_text("At this machine no login is needed")).to_be_visible()
        await context.close()

    assert address == f"{site.address}/"


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, locked: Site, database: str, pool: Engine) -> AsyncIterator[Page]:
    """The browser of ada, who may only look."""
    async with await connect_async(database, "test") as connection:
        people = Services(OneConnection(connection, Actor(name="root", via="cli"))).people
        await people.add("ada", Scope.READ, hash_password(PASSWORD))
    context = await browser.new_context(base_url=locked.address)
    yield await context.new_page()
    await context.close()


async def come_in(page: Page, address: str) -> None:
    await page.goto(address)
    await page.get_by_label("Name").fill("ada")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()


async def test_a_reader_logs_in_and_out_and_sees_no_button_that_fails(page: Page, pool: Engine) -> None:
    join(pool, "north", "sums")

    await come_in(page, "/admin/workers")

    await expect(page.get_by_role("heading", name="Workers", level=1)).to_be_visible()
    await expect(page.get_by_role("button", name="Drain")).to_have_count(0)
    await expect(page.get_by_role("link", name="Audit log")).to_have_count(0)
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()


async def test_a_link_from_elsewhere_finds_who_is_logged_in(page: Page, locked: Site) -> None:
    """The strict cookie comes along after one step."""
    await come_in(page, "/roles")
    await expect(page.get_by_role("heading", name="Roles", level=1)).to_be_visible()

    async def answer(route: Route) -> None:
        await route.fulfill(
            body=f'<a href="{locked.address}/admin/workers?state=idle">look</a>', content_type="text/html"
        )

    await page.route(ELSEWHERE, answer)
    await page.goto(ELSEWHERE)
    await page.get_by_role("link", name="look").click()

    await expect(page.get_by_role("heading", name="Workers", level=1)).to_be_visible()
    assert page.url == f"{locked.address}/admin/workers?state=idle"


async def test_a_session_that_ends_while_a_page_is_open_leads_to_the_login(
    page: Page, connection: psycopg.Connection[object], pool: Engine
) -> None:
    await come_in(page, "/admin/workers")
    await expect(page.get_by_role("heading", name="Workers", level=1)).to_be_visible()

    connection.execute("update rolecall.sessions set expires_at = now() - interval '1 s'")

    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.url.endswith("/login?next=/admin/workers")
