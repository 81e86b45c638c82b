"""The pages of error groups."""

from __future__ import annotations

import httpx2
import pytest

from tests.dashboard.reading import send, shown
from tests.sql.engine import Engine


def fail(pool: Engine, *errors: str) -> int:
    """Fail one task of `add` with each error; return the id of the group of the last one."""
    for error in errors:
        task_id = pool.enqueue("sums", handler="add")
        pool.fail(pool.claim_one(), error, final=True)
    pool.rows("select rolecall.group_failures()")
    return pool.task(task_id).error_group or 0


async def test_errors_are_listed_with_their_numbers(pool: Engine, http: httpx2.AsyncClient) -> None:
    group_id = fail(pool, "E: order 1", "E: order 2")

    [row] = (await shown(http, "/errors")).one("tbody").all("tr")

    assert row.one("th").text == "E: order * add"
    assert [cell.text for cell in row.all("td")[:2]] == ["2", "0"]
    assert row.one("th").all("a")[0]["href"] == f"/errors/{group_id}"
    assert row.one("svg")["aria-label"] == "2 failures within the last 24 hours"


async def test_overview_leads_to_the_errors(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert (await shown(http, "/")).one("dl", class_="figures-row").one("a", href="/errors").text == "0"


async def test_group_is_shown_with_a_latest_error_and_its_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    group_id = fail(pool, "E: order 1\nTraceback\n  deep")

    page = await shown(http, f"/errors/{group_id}")

    assert "Traceback" in page.one("details", class_="error").text
    assert len(page.all("a", href=f"/tasks?error_group={group_id}")) == 2
    assert page.one("dl", class_="figures-row").text.startswith("Failed now 1 tasks that can be retried")


async def test_task_page_leads_to_its_group(pool: Engine, http: httpx2.AsyncClient) -> None:
    group_id = fail(pool, "E: order 1")

    assert len((await shown(http, "/tasks/1")).all("a", href=f"/errors/{group_id}")) == 1


async def test_task_list_shows_the_failed_tasks_of_a_group(pool: Engine, http: httpx2.AsyncClient) -> None:
    group_id = fail(pool, "Other: 1", "E: 1", "E: 2")

    page = await shown(http, f"/tasks?error_group={group_id}")

    assert [row["id"] for row in page.one("tbody").all("tr")] == ["task-3", "task-2"]
    assert page.one("ul", class_="chips").all("li")[0].text.startswith(f"error group: {group_id}")


async def test_question_before_a_retry_names_the_exact_number(pool: Engine, http: httpx2.AsyncClient) -> None:
    group_id = fail(pool, *(f"E: order {number}" for number in range(3)))

    question = await http.post(f"/errors/{group_id}/retry", data={"rate": "0.5"})

    assert "Retry all 3 tasks that failed with this error, 0.5 a second?" in question.text
    assert "The last one is due in 6 s." in question.text
    assert {task.state for task in pool.tasks()} == {"failed"}


async def test_confirmed_retry_retries_exactly_the_group(pool: Engine, http: httpx2.AsyncClient) -> None:
    group_id = fail(pool, "Other: 1", "E: 1", "E: 2")

    await send(http, f"/errors/{group_id}/retry", at=f"/errors/{group_id}", rate="")

    assert "Retry 2 tasks" in (await http.get("/changes/bulk/1")).text
    pool.clock.advance(seconds=10)
    pool.rows("select rolecall.work_off_bulk_action()")
    assert pool.states() == {1: "failed", 2: "pending", 3: "pending"}


async def test_group_without_failed_tasks_has_nothing_to_retry(pool: Engine, http: httpx2.AsyncClient) -> None:
    group_id = fail(pool, "E: 1")
    pool.retry(1)

    await http.post(f"/errors/{group_id}/retry", headers={"referer": "http://test/errors"})

    assert "No task is failed with this error now." in (await http.get("/errors")).text


@pytest.mark.parametrize(("verb", "state"), [("mute", "muted"), ("resolve", "resolved"), ("reopen", "new")])
async def test_group_changes_its_state(pool: Engine, http: httpx2.AsyncClient, verb: str, state: str) -> None:
    group_id = fail(pool, "E: 1")

    await http.post(f"/errors/{group_id}/{verb}", headers={"referer": "http://test/errors"})

    assert f"The error is {state}." in (await http.get("/errors")).text
    assert len((await shown(http, f"/errors?state={state}")).all("tr", id=f"error-{group_id}")) == 1


@pytest.mark.parametrize("query", ["state=muted", "text=odd", "handler=odd", "since=2099-01-01T00:00"])
async def test_errors_that_do_not_match_are_not_listed(pool: Engine, http: httpx2.AsyncClient, query: str) -> None:
    fail(pool, "E: 1")

    assert (await shown(http, f"/errors?{query}")).one("section", id="errors").text.count("E: *") == 0


async def test_new_errors_since_a_time_are_listed(pool: Engine, http: httpx2.AsyncClient) -> None:
    fail(pool, "E: 1")

    assert len((await shown(http, "/errors?since=2020-01-01T00:00")).one("tbody").all("tr")) == 1


async def test_unknown_group_is_not_found(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/errors/4711")).status_code == 404
