"""Scripts on the pages of handlers, schedules and roles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.scenery import Scenery, furnish
from tests.sql.engine import Engine


@pytest.fixture
def scenery(pool: Engine) -> Scenery:
    return furnish(pool)


async def test_task_created_by_the_form_is_followed_until_it_finishes(
    pool: Engine, scenery: Scenery, visit: Visit, pictures: Path
) -> None:
    page = await visit("/jobs")
    await page.get_by_role("link", name="post_letter").click()
    await page.get_by_label("customer").fill("4711")
    await page.get_by_label("urgent").select_option("yes")
    await page.get_by_role("button", name="Enqueue").click()

    result = page.locator("#created")
    await expect(result).to_contain_text("Enqueued")
    await page.screenshot(path=pictures / "job-created.png")
    claim = next(each for each in pool.claim_all().values() if each.payload.get("customer") == 4711)
    pool.complete(claim)

    await expect(result).to_contain_text("completed")
    assert claim.payload == {"customer": 4711, "urgent": True}


async def test_start_time_uses_the_viewers_time_zone(scenery: Scenery, visit: Visit) -> None:
    page = await visit("/jobs/post_letter")

    await expect(page.locator("[name=zone]")).to_have_value("America/New_York")


async def test_rhythm_is_explained_while_typing(scenery: Scenery, visit: Visit) -> None:
    page = await visit("/schedules/new")
    await expect(page.locator("#explained")).to_contain_text("counted from the last run")

    await page.get_by_label("a cron expression").check()
    await page.get_by_label("Cron expression", exact=True).fill("30 4 * * MON-FRI")

    await expect(page.locator("#explained")).to_contain_text("At 04:30 on Monday through Friday")


async def test_timeline_shows_the_viewers_local_time(scenery: Scenery, visit: Visit, pictures: Path) -> None:
    page = await visit("/schedules")

    await expect(page.locator(".axis time").first).to_have_text(re.compile(r"^\d\d:00$"))
    await page.screenshot(path=pictures / "time-line.png")


async def test_schedule_is_deleted_only_after_confirmation(pool: Engine, scenery: Scenery, visit: Visit) -> None:
    page = await visit(f"/schedules/{scenery.schedule_id}")
    count = "select count(*) from rolecall.schedules where name = 'every-minute'"
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Back").click()
    assert pool.value(count) == 1

    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    await expect(page.locator(".notice.good")).to_contain_text("every-minute is deleted")
    assert pool.value(count) == 0


async def test_role_can_be_paused_and_resumed_on_a_small_screen(pool: Engine, scenery: Scenery, visit: Visit) -> None:
    page = await visit("/roles/letters", width=390)
    card = page.locator("#role")
    await card.get_by_text("Pause", exact=True).first.click()
    await card.get_by_role("button", name="30 min").click()

    await expect(page.locator("#role")).to_contain_text("No task starts.")
    await page.locator("#role").get_by_role("button", name="Resume").click()

    await expect(page.locator(".notice.good")).to_contain_text("Role letters is resumed")
    assert pool.value("select paused_at from rolecall.roles where name = 'letters'") is None
