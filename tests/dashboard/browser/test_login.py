"""A person logs in, looks around, follows an external link, and logs out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import psycopg
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Error, Page, Route, expect

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.db.connect import connect_async
from rolecall.model.audit import Actor
from rolecall.model.operator.access import Scope
from rolecall.service.access import ensure_token
from rolecall.service.database import OneConnection
from rolecall.service.services import Services
from rolecall.web import build
from rolecall.web.access.identity import LocalToken
from rolecall.web.access.passwords import hash_password
from rolecall.web.http.requests import LOCAL_NAMES
from tests.dashboard.browser.sites import Site, serving
from tests.dashboard.crews import join
from tests.sql.engine import Engine
from tests.web.doors import PASSWORD

ELSEWHERE = "http://chat.example/"


@pytest.fixture
def locked(database: str, app: App) -> Iterator[Site]:
    with serving(build(database, app, Settings(access=AccessSettings(auth=AuthMode.keys)))) as site:
        yield site


@pytest.fixture
def token(tmp_path: Path) -> str:
    return ensure_token(tmp_path / "token")


@pytest.fixture
def by_token(database: str, app: App, token: str) -> Iterator[Site]:
    """A server that accepts the local token."""
    access = AccessSettings(auth=AuthMode.token, token=token)
    with serving(build(database, app, Settings(access=access), hosts=LOCAL_NAMES)) as site:
        yield site


@pytest.fixture
def neighbour() -> Iterator[tuple[str, list[str]]]:
    """A server of another user on another port, and the cookies that it receives."""
    cookies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.extend(self.headers.get_all("cookie", []))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", cookies
    server.shutdown()
    thread.join()
    server.server_close()


async def test_token_url_opens_the_dashboard_under_its_own_host_name(
    browser: Browser, by_token: Site, token: str
) -> None:
    context = await browser.new_context(base_url=by_token.address)
    page = await context.new_page()

    await page.goto(f"/enter?token={token}")
    await expect(page.get_by_role("heading", name="Now", level=1)).to_be_visible()
    await expect(page.locator("#stream-state[data-state=on]")).to_be_attached()
    address = page.url
    await page.get_by_role("link", name="local", exact=True).click()
    await expect(page.get_by_role("rowheader", name="local token admin")).to_be_visible()
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    await expect(page.get_by_text("On this machine, no password is needed")).to_be_visible()
    await context.close()

    assert address == f"http://{LocalToken(token).host}:{by_token.address.rpartition(':')[2]}/"


async def test_cookie_is_not_sent_to_a_server_on_another_port(
    browser: Browser, by_token: Site, token: str, neighbour: tuple[str, list[str]]
) -> None:
    elsewhere, cookies = neighbour
    context = await browser.new_context(base_url=by_token.address)
    page = await context.new_page()

    await page.goto(f"/enter?token={token}")
    await expect(page.get_by_role("heading", name="Now", level=1)).to_be_visible()
    kept = await context.cookies()
    answer = await context.request.get(elsewhere)
    with suppress(Error):  # there is no page to show
        await page.goto(elsewhere)
    await context.close()

    assert [each["name"].rpartition("-")[0] for each in kept] == ["rolecall"]
    assert (answer.status, cookies) == (204, [])


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, locked: Site, database: str, pool: Engine) -> AsyncIterator[Page]:
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


async def test_reader_logs_in_and_out_and_sees_no_failing_button(page: Page, pool: Engine) -> None:
    join(pool, "north", "sums")

    await come_in(page, "/admin/workers")

    await expect(page.get_by_role("heading", name="Workers", level=1)).to_be_visible()
    await expect(page.get_by_role("button", name="Drain")).to_have_count(0)
    await expect(page.get_by_role("link", name="Audit log")).to_have_count(0)
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()


async def test_link_from_another_site_works_for_a_logged_in_person(page: Page, locked: Site) -> None:
    """The strict cookie is sent after one redirect."""
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


@pytest.mark.parametrize("loss", ["the session ends", "the cookie is lost"])
async def test_page_without_a_session_keeps_its_content_and_links_to_the_login(
    page: Page, connection: psycopg.Connection[object], pool: Engine, loss: str
) -> None:
    join(pool, "north", "sums")
    await come_in(page, "/admin/workers")
    await expect(page.get_by_role("row", name="north")).to_be_visible()

    if loss == "the session ends":
        connection.execute("update rolecall.sessions set expires_at = now() - interval '1 s'")
    else:
        await page.context.clear_cookies()
    await expect(page.locator("#stale")).to_contain_text("You are logged out; data from ")

    await expect(page.get_by_role("row", name="north")).to_be_visible()
    await page.locator("#stale").get_by_role("link", name="Log in").click()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.url.endswith("/login?next=/admin/workers")
