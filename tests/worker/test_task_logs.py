"""The log lines of an attempt are stored with its task, within bounds, while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Annotated

import pytest

from rolecall import App, BatchContext, Context, NewTask, Redacted
from rolecall.db.run import run
from rolecall.model.operator.logs import LogFilter, LogLine
from rolecall.sql import logs
from rolecall.worker.task_logs import FIRST_LINES, LAST_LINES, LONGEST_LINE
from tests.worker import crunching
from tests.worker.bench import Bench, until

log = logging.getLogger("shop.prices")
ALL = LogFilter(limit=10_000)


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Log at the level of the commands."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.INFO)
    yield
    root.setLevel(before)


def lines_of(bench: Bench, task_id: int, which: LogFilter = ALL) -> list[LogLine]:
    return run(bench.connection, logs.lines(task_id, which)).items


def messages_of(bench: Bench, task_id: int) -> list[str]:
    return [line.message for line in lines_of(bench, task_id)]


def as_async(app: App) -> None:
    @app.task("work")
    async def work(ctx: Context) -> None:
        log.info("asked the till for %d", 7)
        ctx.log.warning("it is late")


def in_a_thread(app: App) -> None:
    @app.task("work")
    def work(ctx: Context) -> None:
        log.info("asked the till for %d", 7)
        ctx.log.warning("it is late")


def in_a_process(app: App) -> None:
    app.task("work", process=True)(crunching.count_aloud)


@pytest.mark.parametrize("define", [as_async, in_a_thread, in_a_process])
async def test_lines_of_any_logger_are_stored_with_the_attempt(bench: Bench, define: Callable[[App], None]) -> None:
    define(bench.app)

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        await bench.finished(task_id)

    found = lines_of(bench, task_id)
    known = [(line.attempt, line.level, line.logger, line.message) for line in found]
    assert known[0] == (1, logging.INFO, "shop.prices", "asked the till for 7")
    assert known[1] == (1, logging.WARNING, "rolecall.task", "it is late")
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert [line.message for line in found[2:]] == (["printed", "without an end"] if define is in_a_process else [])


async def test_lines_are_visible_while_the_task_runs(bench: Bench) -> None:
    go_on = asyncio.Event()

    @bench.app.task("work")
    async def work() -> None:
        log.info("first")
        await go_on.wait()

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        await until(lambda: messages_of(bench, task_id) == ["first"], within=2.0)
        assert bench.task(task_id).state == "running"
        go_on.set()


async def test_first_and_last_lines_of_a_noisy_attempt_remain(bench: Bench) -> None:
    @bench.app.task("work")
    async def work() -> None:
        for number in range(1, 3_001):
            log.info("%d", number)
            if number % 1_000 == 0:
                await asyncio.sleep(0)

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        await bench.finished(task_id)

    first, last = range(1, FIRST_LINES + 1), range(3_001 - LAST_LINES, 3_001)
    assert [line.number for line in lines_of(bench, task_id)] == [*first, *last]
    assert messages_of(bench, task_id) == [str(number) for number in [*first, *last]]


async def test_long_lines_are_cut_and_zero_bytes_are_replaced(bench: Bench) -> None:
    @bench.app.task("work")
    async def work() -> None:
        log.info("%s", "\u20ac" * 3_000)
        log.info("a\0b")

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        await bench.finished(task_id)

    long, odd = messages_of(bench, task_id)
    assert len(long.encode()) <= LONGEST_LINE + 4
    assert long.endswith(" ...")
    assert odd == "a\ufffdb"


async def test_tracebacks_of_logged_errors_are_stored(bench: Bench) -> None:
    @bench.app.task("work")
    async def work() -> None:
        try:
            raise ValueError("no price")
        except ValueError:
            log.exception("It is skipped")

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        await bench.finished(task_id)

    [message] = messages_of(bench, task_id)
    assert message.startswith("It is skipped\nTraceback")
    assert message.endswith("ValueError: no price")


async def test_secrets_of_the_payload_are_redacted(bench: Bench) -> None:
    @bench.app.task("work")
    async def work(token: Annotated[str, Redacted]) -> None:
        log.info("logged in with %s", token)

    [task_id] = bench.enqueue(NewTask(handler="work", payload={"token": "s3cr3t-word"}))
    async with bench.working():
        await bench.finished(task_id)

    assert messages_of(bench, task_id) == ["logged in with [redacted]"]


async def test_levels_of_handlers_and_workers_are_respected(bench: Bench) -> None:
    def speak() -> None:
        log.info("quiet")
        log.error("loud")

    bench.app.task("normal")(speak)
    bench.app.task("quiet", logs="error")(speak)
    bench.app.task("silent", logs="off")(speak)

    ids = bench.enqueue(*(NewTask(handler=name) for name in ("normal", "quiet", "silent")))
    async with bench.working():
        await bench.finished(*ids)
    [silenced] = bench.enqueue(NewTask(handler="normal"))
    async with bench.working(task_logs="off"):
        await bench.finished(silenced)

    stored = [messages_of(bench, task_id) for task_id in (*ids, silenced)]
    assert stored == [["quiet", "loud"], ["loud"], [], []]


async def test_lines_of_a_batch_are_stored_with_each_task_that_they_concern(bench: Bench) -> None:
    @bench.app.task("work", batch=5)
    async def work(ctx: BatchContext, items: list[crunching.Box]) -> None:
        log.info("%d boxes", len(items))
        ctx.tasks[1].log.info("only this one")

    box = {"width": 1, "height": 2}
    ids = bench.enqueue(*(NewTask(handler="work", payload={**box}) for _ in range(2)))
    async with bench.working():
        await bench.finished(*ids)

    assert [messages_of(bench, task_id) for task_id in ids] == [["2 boxes"], ["2 boxes", "only this one"]]


async def test_each_attempt_has_its_own_lines(bench: Bench) -> None:
    @bench.app.task("work", max_attempts=2)
    async def work(ctx: Context) -> None:
        log.info("attempt %d", ctx.attempt)
        if ctx.attempt == 1:
            raise ValueError("again")

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        await bench.ended_once(task_id)
        bench.connection.execute("update rolecall.tasks set scheduled_for = rolecall.clock() where id = %s", [task_id])
        await bench.finished(task_id)

    assert messages_of(bench, task_id) == ["attempt 1", "attempt 2"]
    assert [line.message for line in lines_of(bench, task_id, LogFilter(attempt=2))] == ["attempt 2"]


async def test_failing_writes_do_not_affect_tasks(bench: Bench) -> None:
    bench.connection.execute("alter table rolecall.task_logs add constraint nothing check (false)")

    @bench.app.task("work")
    async def work() -> None:
        log.info("lost")

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        [task] = await bench.finished(task_id)

    assert task.state == "completed"
    assert messages_of(bench, task_id) == []


async def test_tasks_that_log_nothing_cause_no_statement(bench: Bench) -> None:
    @bench.app.task("work")
    async def work() -> None:
        logging.getLogger("rolecall.worker").warning("a line of the worker")

    [task_id] = bench.enqueue(NewTask(handler="work"))
    async with bench.working():
        await bench.finished(task_id)
        sessions = "select count(*) from pg_stat_activity where application_name like 'rolecall:worker:logs%'"
        assert bench.ask(sessions.replace("%", "%%")) == 0
