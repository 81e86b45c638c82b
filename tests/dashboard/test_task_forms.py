"""Actions on one task, on selected tasks, and on all tasks of a filter."""

from __future__ import annotations

from collections.abc import Sequence

import httpx2
import pytest

from rolecall.testing import Clock
from tests.dashboard import reading
from tests.dashboard.reading import shown
from tests.sql.engine import LEASE, START, Engine
from tests.web.doors import END_SESSIONS


async def send(http: httpx2.AsyncClient, address: str, **data: object) -> str:
    """Submit a form of a page, and return the message on the next page."""
    answer = await reading.send(http, address, at="/tasks", **data)
    assert answer.status_code == 303, answer.text
    page = await shown(http, answer.headers["location"])
    return page.one("p", class_="notice").text


def offered(page_text: str, paths: Sequence[str], task: int) -> list[str]:
    return [path for path in paths if f"/tasks/{task}/{path}" in page_text]


ALL = ("retry", "trigger", "cancel", "complete", "fail", "token", "delete")


async def test_page_offers_only_the_actions_that_the_state_allows(pool: Engine, http: httpx2.AsyncClient) -> None:
    failed = pool.enqueue("sums", handler="add", max_attempts=1)
    pool.fail(pool.claim_one())
    later = pool.enqueue("sums", handler="add", after=3600)

    assert offered((await http.get(f"/tasks/{failed}")).text, ALL, failed) == ["retry", "delete"]
    assert offered((await http.get(f"/tasks/{later}")).text, ALL, later) == list(ALL[1:])


async def test_failed_task_can_be_retried(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", max_attempts=1)
    pool.fail(pool.claim_one())

    assert await send(http, f"/tasks/{task}/retry") == f"Task {task} is pending again."
    assert pool.state(task) == "pending"
    assert "task" in await send(http, f"/tasks/{task}/retry")


async def test_task_can_be_triggered_and_cancelled(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", after=3600)

    assert await send(http, f"/tasks/{task}/trigger") == f"Task {task} is due now."
    assert pool.task(task).status == "ready"
    assert await send(http, f"/tasks/{task}/cancel") == f"Task {task} is cancelled."
    assert pool.state(task) == "cancelled"


async def test_task_can_be_completed_with_a_result(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")

    assert await send(http, f"/tasks/{task}/complete", result='{"sum": 3}') == f"Task {task} is completed."
    assert pool.task(task).result == {"sum": 3}


@pytest.mark.parametrize("typed", ['{"sum": ', "[" * 200_000, '"\\u0000"'])
async def test_invalid_result_is_explained_next_to_the_input(
    pool: Engine, http: httpx2.AsyncClient, typed: str
) -> None:
    task = pool.enqueue("sums", handler="add")

    answer = await http.post(f"/tasks/{task}/complete", data={"result": typed})

    assert answer.status_code == 422
    assert 'class="field-problem"' in answer.text
    assert pool.state(task) == "pending"


async def test_failing_a_task_requires_a_reason(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")

    assert (await http.post(f"/tasks/{task}/fail", data={"error": " "})).status_code == 422
    assert await send(http, f"/tasks/{task}/fail", error="it is pointless") == f"Task {task} has failed."
    assert pool.task(task).error == "it is pointless"


async def test_completion_token_is_shown_once_and_not_stored(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")

    answer = await http.post(f"/tasks/{task}/token", data={"seconds": "3600"})

    token = answer.text.partition('<code class="secret">')[2].partition("<")[0]
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    done = await http.post("/api/tokens/complete", json={"token": token})
    assert done.json() == {"id": task, "outcome": "completed"}


async def test_deleted_task_no_longer_exists(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")

    assert await send(http, f"/tasks/{task}/delete") == f"Task {task} is deleted."
    assert pool.tasks() == []


async def test_action_on_selected_tasks_reports_their_outcomes(pool: Engine, http: httpx2.AsyncClient) -> None:
    ids, _ = pool.enqueue_many([{"role": "sums", "handler": "add"}] * 3)

    assert await send(http, "/tasks/selected", action="cancel", id=ids[:2]) == "Cancel, 2 tasks: 2 cancelled."
    output = await send(http, "/tasks/selected", action="retry", id=[*ids, 4711])
    assert output == "Retry, 4 tasks: 2 pending again, 1 already open, 1 no longer existed."
    assert await send(http, "/tasks/selected", action="delete", id=ids) == "Delete, 3 tasks: 3 deleted."
    assert await send(http, "/tasks/selected", action="delete") == "Nothing is selected."


async def test_bulk_cancellation_previews_the_number_of_matching_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    ids, _ = pool.enqueue_many([{"role": "sums", "handler": "add"}] * 120)
    pool.enqueue("letters", handler="post")

    pool.rows("select rolecall.cancel(%s)", ids[:1])

    page = await shown(http, "/tasks/bulk?role=sums&action=cancel")

    assert "119 tasks Open tasks are cancelled" in page.text
    assert page.all("button")[-1].text == "Cancel 119 tasks"
    assert set(list(pool.states().values())[1:]) == {"pending"}


async def test_all_matching_tasks_are_cancelled_after_confirmation(pool: Engine, http: httpx2.AsyncClient) -> None:
    ids, _ = pool.enqueue_many([{"role": "sums", "handler": "add"}] * 12)
    letter = pool.enqueue("letters", handler="post")
    form = (await shown(http, "/tasks/bulk?role=sums&action=cancel")).one("form", method="post", action="/tasks/bulk")

    output = await send(http, "/tasks/bulk", **{field["name"]: field["value"] for field in form.all("input")})

    assert output == "It starts in 10 s. Until then it can be withdrawn."
    pool.clock.advance(seconds=10)
    pool.rows("select rolecall.work_off_bulk_action()")
    assert pool.states() == {**dict.fromkeys(ids, "cancelled"), letter: "pending"}


async def test_bulk_action_without_a_filter_is_rejected(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add")

    page = await shown(http, "/tasks/bulk?action=delete")
    refused = await http.post("/tasks/bulk", data={"action": "delete"})

    assert "An action on all tasks needs a filter" in page.text
    assert refused.status_code == 422
    assert pool.state(task) == "pending"


async def test_recovery_without_stale_tasks_reports_none(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert await send(http, "/tasks/recover-stale") == "No task is stale: no lease has expired."


async def test_stale_tasks_can_be_recovered_from_the_list(pool: Engine, http: httpx2.AsyncClient, clock: Clock) -> None:
    clock.set(START)
    pool.rescue()
    pool.declare({"name": "sums", "lease": LEASE})
    task = pool.enqueue("sums", handler="add")
    pool.claim_one()
    clock.advance(seconds=10 * LEASE)
    pool.rows(END_SESSIONS)

    assert await send(http, "/tasks/recover-stale") == f"Recovered 1 stale task: 1 pending ({task})."
