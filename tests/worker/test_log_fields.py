"""Every log line of a handler contains the fields of its task, for any logger and kind of execution."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import structlog

from rolecall import Context
from rolecall.config import LogFormat, LogSettings
from rolecall.telemetry import add_task_fields
from rolecall.telemetry.context import task_fields
from rolecall.telemetry.logs import set_up_logging
from tests.worker import crunching
from tests.worker.bench import Bench

log = logging.getLogger("shop.prices")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The lines of the commands' own log, one JSON object each."""
    root = logging.getLogger()
    before, level, stream = list(root.handlers), root.level, io.StringIO()
    set_up_logging(LogSettings(format=LogFormat.json), stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def ask_the_till() -> None:
    """A function without access to the task."""
    log.info("asked the till")


def fields_of(lines: io.StringIO) -> list[dict[str, Any]]:
    documents = map(json.loads, lines.getvalue().splitlines())
    kept = ("task", "tasks", "chain", "role", "handler", "attempt", "worker", "key")
    return [
        {name: line[name] for name in kept if name in line} for line in documents if line["message"] == "asked the till"
    ]


def as_async(bench: Bench) -> None:
    @bench.app.task("work")
    async def work() -> None:
        await asyncio.create_task(asyncio.to_thread(ask_the_till))


def in_a_thread(bench: Bench) -> None:
    bench.app.task("work")(ask_the_till)


def in_a_process(bench: Bench) -> None:
    bench.app.task("work", process=True)(crunching.ask_the_till)


def called_in_a_process(bench: Bench) -> None:
    @bench.app.task("work")
    async def work(ctx: Context) -> None:
        await ctx.in_process(crunching.ask_the_till)


@pytest.mark.parametrize("define", [as_async, in_a_thread, in_a_process, called_in_a_process])
async def test_log_line_names_the_task_that_wrote_it(bench: Bench, lines: io.StringIO, define: Any) -> None:
    define(bench)
    handler = bench.app.handlers["work"]
    first, second = bench.enqueue(handler.task().options(key="store:7"), handler.task())

    async with bench.working():
        await bench.finished(first, second)

    facts = {"role": "work", "handler": "work", "attempt": 1, "worker": bench.task(first).worker_id}
    assert fields_of(lines) == [
        {"task": first, "chain": first, **facts, "key": "store:7"},
        {"task": second, "chain": second, **facts},
    ]


async def test_log_line_of_a_batch_names_its_tasks(bench: Bench, lines: io.StringIO) -> None:
    @bench.app.task(batch=2)
    def work(items: list[dict[str, int]]) -> None:
        ask_the_till()

    ids = bench.enqueue(*[work.task().options(payload={"n": n}) for n in range(2)])

    async with bench.working():
        tasks = await bench.finished(*ids)

    assert fields_of(lines) == [{"tasks": ids, "role": "work", "handler": "work", "worker": tasks[0].worker_id}]


async def test_idle_slot_has_no_task_fields(bench: Bench, lines: io.StringIO) -> None:
    """Lines logged between two tasks, or by the program around the worker, belong to no task."""
    bench.app.task("work")(ask_the_till)
    [task_id] = bench.enqueue(bench.app.handlers["work"].task())

    async with bench.working():
        await bench.finished(task_id)
        assert task_fields() == {}

    documents = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [line["message"] for line in documents if "chain" in line] == ["asked the till"]


async def test_structlog_adds_the_task_fields_and_keeps_existing_ones(bench: Bench) -> None:
    written: list[dict[str, Any]] = []

    def keep(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
        written.append(dict(event))
        return ""

    speaker = structlog.wrap_logger(structlog.PrintLogger(io.StringIO()), processors=[add_task_fields, keep])

    @bench.app.task
    def work() -> None:
        speaker.info("sold", role="till")

    [task_id] = bench.enqueue(work.task())
    async with bench.working():
        [task] = await bench.finished(task_id)

    [event] = written
    assert (event["task"], event["worker"], event["role"]) == (task_id, task.worker_id, "till")
