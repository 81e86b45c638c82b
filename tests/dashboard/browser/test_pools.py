"""The switch between the pools of one server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.testing import TestServer, clone
from rolecall.web.pools.application import build_pools
from tests.dashboard.browser.conftest import Visit
from tests.dashboard.browser.sites import ThreadSite, serving
from tests.sql.engine import Engine


@pytest.fixture
def site(postgres_server: TestServer, database_template: str, pool: Engine) -> Iterator[ThreadSite]:
    """A server with the pool of the test and an empty one."""
    settings = Settings(access=AccessSettings(auth=AuthMode.off))
    with clone(postgres_server, database_template) as other:
        front = build_pools({"billing": pool.database, "mail": other}, App("test"), settings)
        with serving(front) as site:
            yield site


async def test_switch_leads_from_a_page_of_one_pool_to_that_of_another(visit: Visit, pool: Engine) -> None:
    pool.enqueue("sums", handler="add")
    page = await visit("/")

    await expect(page.get_by_role("row", name="billing").get_by_role("cell").nth(1)).to_have_text("1")
    await page.get_by_role("link", name="billing", exact=True).click()
    await page.get_by_role("link", name="Roles").first.click()
    await expect(page.get_by_role("link", name="sums", exact=True)).to_be_visible()
    await page.locator("summary", has_text="billing").click()
    await page.get_by_role("link", name="mail", exact=True).click()

    await expect(page.get_by_role("heading", name="Roles", level=1)).to_be_visible()
    await expect(page).to_have_url(f"{page.url.partition('/pools/')[0]}/pools/mail/roles")
    await expect(page.get_by_role("link", name="sums", exact=True)).to_have_count(0)
