"""Attempts of Celery tasks: as with Celery, only tasks declared with retries are retried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from rolecall import Client, TaskState
from rolecall.celery import Celery
from rolecall.celery.exceptions import TaskFailed, TaskRevokedError, TimeoutError  # noqa: A004 - Celery's name
from rolecall.celery.options import parse_declaration
from rolecall.celery.result import AsyncResult
from rolecall.celery.tasks import backoff
from rolecall.testing import inline
from tests.celery.conftest import Work


@pytest.fixture
def celery(database: str) -> Iterator[Celery]:
    app = Celery("test", database=database)
    yield app
    app.client.close()


async def ended(result: AsyncResult, at_work: Work, app: Any) -> Any:
    """Return the task after a worker has finished it."""
    async with at_work(app):
        await asyncio.to_thread(result.get, 30, propagate=False)
    return app.client.get(int(result.id))


async def test_error_fails_a_task_without_retry_and_is_stored(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.broken.delay(), at_work, shop.app)

    assert (task.state, task.attempt) == (TaskState.FAILED, 1)
    assert task.error.startswith("ValueError: over a stone\n")


async def test_autoretry_for_error_is_retried_as_often_as_configured(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.unsteady.delay(), at_work, shop.app)

    assert (task.state, task.attempt) == (TaskState.FAILED, 2)
    assert task.error.startswith("ConnectionError: call 2")


async def test_retry_beyond_the_maximum_raises_its_cause(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.fetch.delay("http://upstream", fail=9), at_work, shop.app)

    assert (task.state, task.attempt) == (TaskState.FAILED, 3)
    assert task.error.startswith("ConnectionError: http://upstream does not answer")


async def test_task_that_raises_ignore_is_cancelled(shop: ModuleType, at_work: Work) -> None:
    result = shop.give_up.delay()

    task = await ended(result, at_work, shop.app)

    assert task.state is TaskState.CANCELLED
    assert result.state == "REVOKED"
    with pytest.raises(TaskRevokedError):
        result.get(1)


async def test_ignored_result_is_not_stored(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.beat.delay(), at_work, shop.app)

    assert (task.state, task.result) == (TaskState.COMPLETED, None)


async def test_bound_task_has_its_id_and_reports_progress(shop: ModuleType, at_work: Work) -> None:
    result = shop.progress.delay()

    task = await ended(result, at_work, shop.app)

    assert task.result == result.id
    assert task.info == {"state": "PROGRESS", "meta": {"done": 50}}


async def test_task_over_its_time_limit_is_not_retried(celery: Celery, at_work: Work) -> None:
    @celery.task(bind=True, time_limit=0.2)
    def slow(self: Any) -> None:
        while True:
            self.context.check()
            time.sleep(0.01)

    task = await ended(slow.delay(), at_work, celery)

    assert (task.state, task.attempt) == (TaskState.FAILED, 2)
    assert "did not finish within 0.2 s" in task.error


async def test_chain_stops_at_a_failed_task(shop: ModuleType, at_work: Work) -> None:
    result = (shop.broken.si() | shop.add.si(1, 1)).delay()

    async with at_work(shop.app):
        with pytest.raises(TaskFailed, match="over a stone"):
            await asyncio.to_thread(result.get, 30)

    assert (result.state, result.failed(), result.ready()) == ("FAILURE", True, True)
    assert shop.app.client.get_chain(int(result.id)).length == 1


async def test_chord_fails_with_a_task_of_its_header(shop: ModuleType, at_work: Work) -> None:
    result = shop.chord([shop.add.s(1, 1), shop.broken.si()])(shop.tsum.s())

    async with at_work(shop.app):
        with pytest.raises(TaskFailed):
            await asyncio.to_thread(result.get, 30)


async def test_empty_chord_continues_with_an_empty_list(shop: ModuleType, at_work: Work) -> None:
    result = shop.chord([])(shop.tsum.s())

    async with at_work(shop.app):
        assert await asyncio.to_thread(result.get, 30) == 0


async def test_empty_group_after_a_task_finishes_with_an_empty_list(shop: ModuleType, at_work: Work) -> None:
    result = (shop.add.s(1, 1) | shop.group([])).apply_async()

    async with at_work(shop.app):
        assert await asyncio.to_thread(result.get, 30) == []


async def test_link_runs_with_the_result(shop: ModuleType, at_work: Work, celery: Celery) -> None:
    result = shop.add.apply_async((1, 2), link=[shop.multiply.s(5), shop.add.s(1) | shop.add.s(1)])

    async with at_work(shop.app):
        assert await asyncio.to_thread(result.get, 30) == 3
        followed = [AsyncResult(int(result.id) + after, shop.app.program) for after in (1, 2)]
        assert [await asyncio.to_thread(each.get, 30) for each in followed] == [15, 5]


async def test_non_json_result_is_not_stored_as_another_type(celery: Celery, at_work: Work) -> None:
    @celery.task
    def today() -> datetime:
        return datetime.now(UTC)

    @celery.task
    def show(when: Any) -> str:
        return str(when)

    alone, chained = today.delay(), (today.s() | show.s()).delay()

    async with at_work(celery):
        kept = await asyncio.to_thread(alone.get, 30)
        with pytest.raises(
            TaskFailed, match="the result has the type datetime, which JSON would change for the next task"
        ):
            await asyncio.to_thread(chained.get, 30)
    assert repr(kept) == "UnstoredResult(why='a datetime, not plain JSON', rolecall='result not stored')"


async def test_task_with_a_result_unsuitable_for_the_next_one_is_not_retried(celery: Celery, at_work: Work) -> None:
    calls = []

    @celery.task
    def name() -> str:
        calls.append(1)
        return "Ada"

    @celery.task
    def double(number: int) -> int:
        return number * 2

    result = (name.s() | double.s()).delay()

    async with at_work(celery):
        with pytest.raises(TaskFailed, match="Expected `int`, got `str`"):
            await asyncio.to_thread(result.get, 30)
    assert calls == [1]


def test_task_can_be_called_as_a_plain_function(shop: ModuleType) -> None:
    with pytest.raises(ConnectionError):
        shop.fetch("http://upstream")

    assert shop.add(1, 2) == 3
    assert shop.add.s(1, 2).task == "shop.tasks.add"


def test_tasks_run_in_the_transaction_of_a_test(shop: ModuleType, connection: Any) -> None:
    with connection.transaction(force_rollback=True):
        shop.add.apply_async((1, 2), connection=connection)

        [task] = inline(shop.app.rolecall, connection)

        assert task.result == 3


def test_rolled_back_call_enqueues_nothing(shop: ModuleType, connection: Any) -> None:
    with connection.transaction(force_rollback=True):
        result = shop.add.apply_async((1, 2), connection=connection)

    assert result.state == "PENDING"
    assert connection.execute("select count(*) from rolecall.tasks").fetchone() == (0,)


def test_get_raises_after_its_timeout(shop: ModuleType) -> None:
    with pytest.raises(TimeoutError):
        shop.add.delay(1, 2).get(0.01)


def test_pending_task_can_be_revoked(shop: ModuleType) -> None:
    result = shop.add.delay(1, 2)

    shop.app.control.revoke(result.id)

    assert result.state == "REVOKED"


def test_lost_task_is_retried_by_default(celery: Celery) -> None:
    celery.task(lambda: None, name="late")
    celery.task(lambda: None, name="early", acks_late=False)

    policies = {
        name: handler.settings.retry.kind
        for name, handler in celery.rolecall.handlers.items()
        if handler.settings.retry
    }

    assert policies == {"late": "linear", "early": "none"}


@pytest.mark.parametrize(
    ("words", "attempts"),
    [({}, 4), ({"max_retries": 0}, 1), ({"max_retries": None}, 0), ({"retry_kwargs": {"max_retries": 7}}, 8)],
)
def test_retries_exclude_the_first_attempt(celery: Celery, words: dict[str, Any], attempts: int) -> None:
    celery.task(lambda: None, name="one", **words)

    assert celery.rolecall.handlers["one"].settings.max_attempts == attempts


def test_retry_delay_grows_up_to_the_maximum() -> None:
    options = parse_declaration("one", {"retry_backoff": 2, "retry_backoff_max": 10, "retry_jitter": False})

    assert [backoff(options, retries) for retries in range(4)] == [2, 4, 8, 10]


def test_rolecall_client_can_enqueue_the_tasks_too(shop: ModuleType, database: str) -> None:
    with Client(database, app=shop.app.rolecall) as client:
        task = client.get(client.enqueue("shop.tasks.add", {"x": 1, "y": 2}))

    assert (task.role, task.payload) == ("shop", {"x": 1, "y": 2})
