"""Every action of the dashboard by a simulated user, on a light desktop page and on a dark phone page."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.browser.walker import Walker
from tests.dashboard.scenery import Scenery, furnish
from tests.sql.engine import Engine

Begin = Callable[[str], Awaitable[Walker]]
LOOKS = pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])


@pytest.fixture
def scenery(pool: Engine) -> Scenery:
    return furnish(pool)


@pytest.fixture
def begin(pool: Engine, visit: Visit, width: int, theme: str) -> Begin:
    async def begin(path: str) -> Walker:
        return Walker(page=await visit(path, width=width, theme=theme), pool=pool)

    return begin


@LOOKS
async def test_failed_task_is_retried_and_a_scheduled_one_runs_now(
    pool: Engine, scenery: Scenery, begin: Begin
) -> None:
    later = pool.enqueue("sums", handler="add", after=3_600)
    walker = await begin(f"/tasks/{scenery.failed_id}")
    await walker.press("Retry")
    await walker.sees_message(f"task {scenery.failed_id}")
    assert (pool.state(scenery.failed_id), walker.did()) == ("pending", ("tasks.retry", "dashboard"))

    await walker.go(f"/tasks/{later}")
    await walker.press("Run now")
    await walker.sees_message(f"{later}")
    assert (pool.task(later).status, walker.did()) == ("ready", ("tasks.trigger", "dashboard"))


@LOOKS
async def test_tasks_are_finished_from_outside_and_deleted(pool: Engine, scenery: Scenery, begin: Begin) -> None:
    done, failed, cancelled = (pool.enqueue("sums", handler="add", after=3_600) for _ in range(3))
    walker = await begin(f"/tasks/{done}")
    await walker.follow("Complete…")
    await walker.fill("Result as JSON", '{"sum": 7}')
    await walker.press(f"Complete task {done}")
    await walker.sees_message(f"Task {done} is completed")
    assert (pool.task(done).result, walker.did()) == ({"sum": 7}, ("tasks.complete", "dashboard"))

    await walker.go(f"/tasks/{failed}")
    await walker.follow("Fail…")
    await walker.fill("Reason", "the shop has closed")
    await walker.press(f"Fail task {failed}")
    await walker.sees_message(f"Task {failed} has failed")
    assert (pool.task(failed).error, walker.did()) == ("the shop has closed", ("tasks.fail", "dashboard"))

    await walker.go(f"/tasks/{cancelled}")
    await walker.press_and_confirm("Cancel", f"Cancel task {cancelled}")
    await walker.sees_message(f"{cancelled}")
    assert (pool.state(cancelled), walker.did()) == ("cancelled", ("tasks.cancel", "dashboard"))

    await walker.press_and_confirm("Delete", f"Delete task {cancelled} permanently")
    await walker.sees_message(f"Task {cancelled} is deleted")
    assert (cancelled in pool.states(), walker.did()) == (False, ("tasks.delete", "dashboard"))


@LOOKS
async def test_many_tasks_are_retried_withdrawn_and_recovered(pool: Engine, scenery: Scenery, begin: Begin) -> None:
    walker = await begin("/tasks?state=failed")
    await walker.page.get_by_role("checkbox", name=f"Select task {scenery.failed_id}").check()
    await walker.press_and_confirm("Retry", "Retry 1 task")
    await walker.sees_message("1 ")
    assert (pool.state(scenery.failed_id), walker.did()) == ("pending", ("tasks.retry", "dashboard"))

    waiting = pool.value("select count(*) from rolecall.all_tasks where role = 'returns' and status = 'ready'")
    await walker.go("/tasks?role=returns&state=ready")
    await walker.follow("Cancel all…")
    await walker.press(f"Cancel {waiting} tasks")
    await walker.sees_message("It starts in 10 s.")
    assert walker.did() == ("bulk.cancel", "dashboard")
    await walker.press("Withdraw")
    await walker.sees_message("Withdrawn. No task was changed.")
    assert walker.did() == ("bulk.stop", "dashboard")

    await walker.go("/tasks")
    _let_lease_run_out(pool, scenery.task_id)
    await walker.press("Recover stale tasks")
    await walker.sees_message("Recovered 1 stale task")
    assert (pool.state(scenery.task_id), walker.did()) == ("pending", ("maintenance.rescue", "dashboard"))


@LOOKS
async def test_schedule_is_created_run_disabled_edited_and_deleted(
    pool: Engine, scenery: Scenery, begin: Begin
) -> None:
    walker = await begin("/schedules")
    await walker.follow("New schedule")
    await walker.fill("Name", "four-times")
    await walker.fill("Every", "6h")
    await walker.page.get_by_label("Handler").select_option("add")
    await walker.press("Create")
    await walker.sees_message("four-times is created")
    assert pool.value("select every from rolecall.schedules where name = 'four-times'").total_seconds() == 6 * 3_600
    assert walker.did() == ("schedules.put", "dashboard")

    await walker.press("Run now")
    await walker.sees_message("four-times runs now")
    assert walker.did() == ("schedules.trigger", "dashboard")

    is_enabled = "select enabled from rolecall.schedules where name = 'four-times'"
    await walker.press("four-times is enabled", role="switch")
    await walker.press("four-times is disabled", role="switch")
    await expect(walker.page.get_by_role("switch", name="four-times is enabled")).to_be_visible()
    assert (pool.value(is_enabled), walker.did()) == (True, ("schedules.put", "dashboard"))

    await walker.follow("Edit")
    await walker.fill("Every", "8h")
    await walker.press("Save")
    await walker.sees_message("four-times is changed")
    assert pool.value("select every from rolecall.schedules where name = 'four-times'").total_seconds() == 8 * 3_600

    await walker.press_and_confirm("Delete", "Delete schedule four-times")
    await walker.sees_message("four-times is deleted")
    assert walker.did() == ("schedules.delete", "dashboard")


@LOOKS
async def test_worker_is_drained_resumed_and_decommissioned(pool: Engine, scenery: Scenery, begin: Begin) -> None:
    command = "select command from rolecall.workers where id = %s"
    walker = await begin(f"/admin/workers/{scenery.worker_id}")
    await walker.press_and_confirm("Drain", "claims no more tasks")
    await walker.sees_message("claims no more tasks")
    assert (pool.value(command, scenery.worker_id), walker.did()) == ("drain", ("workers.drain", "dashboard"))

    await walker.press("Resume")
    await walker.sees_message("claims tasks again")
    assert (pool.value(command, scenery.worker_id), walker.did()) == (None, ("workers.resume", "dashboard"))

    await walker.press_and_confirm("Decommission", "exits")
    await walker.sees_message("exits when its running tasks have finished")
    assert pool.value(command, scenery.worker_id) == "decommission"


@LOOKS
async def test_role_is_paused_and_resumed_and_a_chain_deleted(pool: Engine, scenery: Scenery, begin: Begin) -> None:
    walker = await begin("/roles/letters")
    card = walker.page.get_by_role("region", name="The role letters")
    await card.get_by_text("Pause", exact=True).first.click()
    await walker.press("Until resumed", within=card)
    await walker.sees_message("letters")
    assert walker.did() == ("roles.pause", "dashboard")
    await walker.press("Resume", within=card)
    await walker.sees_message("Role letters is resumed")
    assert walker.did() == ("roles.resume", "dashboard")

    await walker.go(f"/chains/{scenery.chain_id}")
    await walker.press_and_confirm("Delete", f"Delete chain {scenery.chain_id}")
    await walker.sees_message(f"{scenery.chain_id}")
    assert (scenery.chain_id in pool.states(), walker.did()) == (False, ("chains.delete", "dashboard"))


@LOOKS
async def test_capacity_of_a_key_is_raised_and_reset(pool: Engine, scenery: Scenery, begin: Begin) -> None:
    capacity = "select capacity from rolecall.keys_now('{ledger}')"
    walker = await begin("/keys")
    await walker.page.get_by_role("searchbox", name="Key").fill("ledger")
    await walker.press("Search")
    await walker.page.get_by_role("spinbutton", name="Capacity").fill("2")
    await walker.press("Set")
    await walker.sees_message("2 tasks of the key 'ledger' can run at once")
    assert (pool.value(capacity), walker.did()) == (2, ("key_capacities.set", "dashboard"))
    await expect(walker.page.get_by_role("region", name="ledger")).to_contain_text("its own capacity")

    row = walker.page.get_by_role("row", name="ledger")
    await walker.press("Reset", within=row)
    dialog = walker.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Reset the capacity of the key 'ledger'?")
    await walker.press("Reset", within=dialog)
    await walker.sees_message("The capacity of the key 'ledger' is reset")
    assert (pool.value(capacity), walker.did()) == (1, ("key_capacities.reset", "dashboard"))


@LOOKS
async def test_form_creates_a_task_and_a_slider_computes_capacity(pool: Engine, scenery: Scenery, begin: Begin) -> None:
    walker = await begin("/jobs")
    await walker.follow("post_letter")
    await walker.fill("customer", "4711")
    await walker.press("Enqueue")
    await walker.sees_message("Enqueued")
    assert pool.value("select count(*) from rolecall.tasks where payload ->> 'customer' = '4711'") == 1
    assert walker.did() == ("tasks.enqueue", "dashboard")

    await walker.go("/capacity?role=letters")
    await walker.page.get_by_role("slider", name="Number of workers").fill("3")
    await expect(walker.page.get_by_role("status").filter(has_text="With 3 workers")).to_be_visible()
    await expect(walker.page).to_have_url(re.compile("role=letters&workers=3&"))


@LOOKS
async def test_navigation_works_by_keyboard_list_and_theme_switch(
    pool: Engine, scenery: Scenery, visit: Visit, width: int, theme: str
) -> None:
    walker = Walker(page=await visit("/", width=width, theme=theme, moves=True), pool=pool)
    for key in "gt":
        await walker.page.keyboard.press(key)
    await walker.page.wait_for_url("**/tasks")
    await walker.page.keyboard.press("/")
    await expect(walker.page.get_by_role("combobox", name="Search", exact=True)).to_be_focused()

    if width < 1000:
        await expect(walker.page.get_by_role("link", name="Schedules")).to_be_hidden()
        await walker.press("Pages")
    background = await walker.page.evaluate("getComputedStyle(document.body).backgroundColor")
    button = walker.page.get_by_role("button", name="Theme")
    await button.click()
    await walker.page.get_by_role("button", name="Dark").click()
    if theme == "dark":
        assert await walker.page.evaluate("getComputedStyle(document.body).backgroundColor") != background
    await walker.follow("Schedules")
    await walker.page.wait_for_url("**/schedules")
    assert await walker.page.evaluate("document.documentElement.dataset.theme") == "light"


def _let_lease_run_out(pool: Engine, task_id: int) -> None:
    """Simulate a lost worker, on a server that has been up for long."""
    pool.rows("select rolecall.server_up_since()")
    pool.rows("update rolecall.server_epoch set seen_at = seen_at - interval '1 day'")
    pool.rows("update rolecall.tasks set lease_until = rolecall.clock() - interval '1 min' where id = %s", task_id)
