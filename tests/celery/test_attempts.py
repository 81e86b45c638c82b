"""How a task ends, and what it may ask of its attempt: as with Celery, nothing is repeated that was not told to."""

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
from rolecall.celery.options import declared
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
    """The task, once a worker has ended it."""
    async with at_work(app):
        await asyncio.to_thread(result.get, 30, propagate=False)
    return app.client.get(int(result.id))


async def test_an_error_ends_a_task_at_once_and_is_kept_as_its_own(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.broken.delay(), at_work, shop.app)

    assert (task.state, task.attempt) == (TaskState.FAILED, 1)
    assert task.error.startswith("ValueError: over a stone\n")


async def test_an_error_of_autoretry_for_is_repeated_as_often_as_was_said(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.unsteady.delay(), at_work, shop.app)

    assert (task.state, task.attempt) == (TaskState.FAILED, 2)
    assert task.error.startswith("ConnectionError: call 2")


async def test_a_retry_beyond_the_last_raises_its_cause(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.fetch.delay("http://upstream", fail=9), at_work, shop.app)

    assert (task.state, task.attempt) == (TaskState.FAILED, 3)
    assert task.error.startswith("ConnectionError: http://upstream does not answer")


async def test_a_task_that_raises_ignore_is_cancelled(shop: ModuleType, at_work: Work) -> None:
    result = shop.give_up.delay()

    task = await ended(result, at_work, shop.app)

    assert task.state is TaskState.CANCELLED
    assert result.state == "REVOKED"
    with pytest.raises(TaskRevokedError):
        result.get(1)


async def test_an_ignored_result_is_not_kept(shop: ModuleType, at_work: Work) -> None:
    task = await ended(shop.beat.delay(), at_work, shop.app)

    assert (task.state, task.result) == (TaskState.COMPLETED, None)


async def test_a_bound_task_knows_its_id_and_tells_how_far_it_is(shop: ModuleType, at_work: Work) -> None:
    result = shop.progress.delay()

    task = await ended(result, at_work, shop.app)

    assert task.result == result.id
    assert task.info == {"state": "PROGRESS", "meta": {"done": 50}}


async def test_a_task_that_overruns_its_time_limit_is_not_repeated(celery: Celery, at_work: Work) -> None:
    @celery.task(bind=True, time_limit=0.2)
    def slow(self: Any) -> None:
        while True:
            self.context.check()
            time.sleep(0.01)

    task = await ended(slow.delay(), at_work, celery)

    assert (task.state, task.attempt) == (TaskState.FAILED, 2)
    assert "did not finish within 0.2 s" in task.error


async def test_a_chain_ends_where_a_task_of_it_fails(shop: ModuleType, at_work: Work) -> None:
    result = (shop.broken.si() | shop.add.si(1, 1)).delay()

    async with at_work(shop.app):
        with pytest.raises(TaskFailed, match="over a stone"):
            await asyncio.to_thread(result.get, 30)

    assert (result.state, result.failed(), result.ready()) == ("FAILURE", True, True)
    assert shop.app.client.get_chain(int(result.id)).length == 1


async def test_a_chord_fails_with_a_task_of_its_header(shop: ModuleType, at_work: Work) -> None:
    result = shop.chord([shop.add.s(1, 1), shop.broken.si()])(shop.tsum.s())

    async with at_work(shop.app):
        with pytest.raises(TaskFailed):
            await asyncio.to_thread(result.get, 30)


async def test_a_chord_of_nothing_goes_on_with_nothing(shop: ModuleType, at_work: Work) -> None:
    result = shop.chord([])(shop.tsum.s())

    async with at_work(shop.app):
        assert await asyncio.to_thread(result.get, 30) == 0


async def test_a_group_of_nothing_that_something_precedes_ends_with_nothing(shop: ModuleType, at_work: Work) -> None:
    result = (shop.add.s(1, 1) | shop.group([])).apply_async()

    async with at_work(shop.app):
        assert await asyncio.to_thread(result.get, 30) == []


async def test_a_link_follows_with_the_result(shop: ModuleType, at_work: Work, celery: Celery) -> None:
    result = shop.add.apply_async((1, 2), link=[shop.multiply.s(5), shop.add.s(1) | shop.add.s(1)])

    async with at_work(shop.app):
        assert await asyncio.to_thread(result.get, 30) == 3
        followed = [AsyncResult(int(result.id) + after, shop.app.program) for after in (1, 2)]
        assert [await asyncio.to_thread(each.get, 30) for each in followed] == [15, 5]


async def test_a_result_that_is_no_plain_json_is_not_kept_as_something_else(celery: Celery, at_work: Work) -> None:
    @celery.task
    def today() -> datetime:
        return datetime.now(UTC)

    @celery.task
    def show(when: Any) -> str:
        return str(when)

    alone, chained = today.delay(), (today.s() | show.s()).delay()

    async with at_work(celery):
        kept = await asyncio.to_thread(alone.get, 30)
        with pytest.raises(TaskFailed, match="the result is a datetime, which JSON would change for the next task"):
            await asyncio.to_thread(chained.get, 30)
    assert repr(kept) == "UnstoredResult(why='it is a datetime, not plain JSON', rolecall='result not stored')"


async def test_a_task_whose_result_does_not_fit_the_next_one_is_not_done_again(celery: Celery, at_work: Work) -> None:
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


def test_a_task_is_called_as_the_function_that_it_is(shop: ModuleType) -> None:
    with pytest.raises(ConnectionError):
        shop.fetch("http://upstream")

    assert shop.add(1, 2) == 3
    assert shop.add.s(1, 2).task == "shop.tasks.add"


def test_tasks_run_in_the_transaction_of_a_test(shop: ModuleType, connection: Any) -> None:
    with connection.transaction(force_rollback=True):
        shop.add.apply_async((1, 2), connection=connection)

        [task] = inline(shop.app.rolecall, connection)

        assert task.result == 3


def test_what_is_rolled_back_was_never_enqueued(shop: ModuleType, connection: Any) -> None:
    with connection.transaction(force_rollback=True):
        result = shop.add.apply_async((1, 2), connection=connection)

    assert result.state == "PENDING"
    assert connection.execute("select count(*) from rolecall.tasks").fetchone() == (0,)


def test_a_task_waits_no_longer_than_it_is_told(shop: ModuleType) -> None:
    with pytest.raises(TimeoutError):
        shop.add.delay(1, 2).get(0.01)


def test_a_pending_task_is_revoked(shop: ModuleType) -> None:
    result = shop.add.delay(1, 2)

    shop.app.control.revoke(result.id)

    assert result.state == "REVOKED"


def test_a_lost_task_runs_again_unless_it_is_said_otherwise(celery: Celery) -> None:
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
def test_retries_are_attempts_but_the_first(celery: Celery, words: dict[str, Any], attempts: int) -> None:
    celery.task(lambda: None, name="one", **words)

    assert celery.rolecall.handlers["one"].settings.max_attempts == attempts


def test_a_retry_waits_longer_each_time_up_to_the_maximum() -> None:
    options = declared("one", {"retry_backoff": 2, "retry_backoff_max": 10, "retry_jitter": False})

    assert [backoff(options, retries) for retries in range(4)] == [2, 4, 8, 10]


def test_a_client_of_rolecall_enqueues_them_too(shop: ModuleType, database: str) -> None:
    with Client(database, app=shop.app.rolecall) as client:
        task = client.get(client.enqueue("shop.tasks.add", {"x": 1, "y": 2}))

    assert (task.role, task.payload) == ("shop", {"x": 1, "y": 2})
