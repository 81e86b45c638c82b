"""The clicks from the overview to the answer of an operator's question, each with a maximum.

The clicks from a spike to its tasks, for a bulk action and to retry an error are counted in other files of this folder.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest_asyncio
from playwright.async_api import Locator, Page, expect
from psycopg.types.json import Jsonb

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine
from tests.sql.history.test_roll_up import begin
from tests.sql.problems.pool import finish, pass_time

ERROR = """\
Traceback (most recent call last):
  File "shop/bank.py", line 3, in call
    raise ConnectionError("the line is dead")
ConnectionError: the line is dead

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "shop/cards.py", line 5, in charge
    raise Declined("card 4711 was declined")
shop.cards.Declined: card 4711 was declined"""
LOG = [1, 0, 30, "shop.cards", "the bank is slow"]


@dataclass(slots=True)
class Operator:
    """An operator who counts clicks."""

    page: Page
    worker: int
    clicks: int = 0

    async def click(self, target: Locator) -> None:
        self.clicks += 1
        await target.click()

    @property
    def main(self) -> Locator:
        return self.page.locator("#main")


@pytest_asyncio.fixture(loop_scope="session")
async def operator(pool: Engine, visit: Visit) -> Operator:
    """An operator at the overview of a pool with a failed task, a hanging task and a hot key."""
    pool.clock.advance(minutes=-3)
    worker = pool.worker("sums", "letters", slots=8, name="shop-worker")
    begin(pool)
    for _ in range(3):
        finish(pool, worker, 8, role="sums", handler="add")
    failed = pool.enqueue("sums", handler="stumble", max_attempts=1)
    pool.fail(pool.claim_one(worker=worker), ERROR)
    log = {"task_id": failed, "fence": 1, "part": 1, "attempt": 1, "lines": [LOG]}
    pool.rows("select rolecall.write_logs(%s)", Jsonb([log]))
    pool.rows("select rolecall.group_failures()")
    pool.enqueue("sums", handler="add")
    hanging = pool.claim_one(worker=worker)
    pool.start(hanging)
    pass_time(pool, 120, [worker])
    pool.clock.restart()
    pool.rows("select rolecall.beat(%s, 1, false), rolecall.make_partitions()", worker)
    pool.renew(hanging)
    pool.enqueue_many([{"role": "letters", "handler": "post", "key": "shop:58"}] * 9)
    return Operator(await visit("/"), worker)


async def test_reason_of_a_failure_with_all_causes_is_two_clicks_away(operator: Operator) -> None:
    await operator.click(operator.page.locator(".figure").filter(has_text="Failed").get_by_role("link"))
    await operator.click(operator.main.get_by_role("link", name="Declined: card *"))

    await expect(operator.main).to_contain_text("ConnectionError: the line is dead")
    assert operator.clicks == 2


async def test_log_of_a_failed_task_is_two_clicks_away(operator: Operator) -> None:
    await operator.click(operator.page.locator(".figure").filter(has_text="Failed").get_by_role("link"))
    row = operator.main.get_by_role("row").filter(has_text="Declined: card *")
    await operator.click(row.get_by_role("cell").nth(5).get_by_role("link"))

    await expect(operator.page.locator("#logs")).to_contain_text("the bank is slow")
    assert operator.clicks == 2


async def test_overview_says_without_a_click_that_a_task_hangs(operator: Operator) -> None:
    await expect(operator.page.locator(".alerts")).to_contain_text(
        "1 task of role sums has been running for up to 3 min"
    )


async def test_hanging_task_and_its_worker_are_two_clicks_away(operator: Operator) -> None:
    problem = operator.page.locator(".alerts li").filter(has_text="has been running")
    await operator.click(problem.get_by_role("link", name="Show 1"))
    row = operator.main.get_by_role("row").filter(has_text="add")
    await operator.click(row.get_by_role("link").first)

    await expect(operator.main.locator(f"a[href='/admin/workers/{operator.worker}']").first).to_be_visible()
    assert operator.clicks == 2


async def test_hot_key_is_paused_with_three_clicks(operator: Operator) -> None:
    await operator.click(operator.page.get_by_role("link", name="Roles", exact=True))
    await operator.click(operator.main.get_by_role("link", name="Keys"))
    row = operator.main.get_by_role("row").filter(has_text="shop:58").first
    await operator.click(row.get_by_role("button", name="Pause"))

    await expect(row).to_contain_text("paused")
    assert operator.clicks <= 3
