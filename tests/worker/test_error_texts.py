"""The error text of a failed attempt: the same in the database and the log, wherever the handler ran."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from rolecall import App, Context, PermanentFailure, Redacted, Retry
from rolecall.config import LogFormat, LogLevel, LogSettings
from rolecall.model.codecs import register_codec
from rolecall.telemetry.logs import set_up_logging
from tests.secrets import CANARY
from tests.worker import crunching
from tests.worker.bench import Bench


def as_async(app: App) -> None:
    @app.task("close", max_attempts=1)
    async def close() -> None:
        crunching.close_the_day()


def in_a_thread(app: App) -> None:
    app.task("close", max_attempts=1)(crunching.close_the_day)


def in_a_process(app: App) -> None:
    app.task("close", max_attempts=1, process=True)(crunching.close_the_day)


def called_in_a_process(app: App) -> None:
    @app.task("close", max_attempts=1)
    async def close(ctx: Context) -> None:
        await ctx.in_process(crunching.close_the_day)


@pytest.mark.parametrize("define", [as_async, in_a_thread, in_a_process, called_in_a_process])
async def test_error_text_has_causes_members_and_notes_but_no_internal_frames(bench: Bench, define: Any) -> None:
    define(bench.app)
    [task_id] = bench.enqueue(bench.app.handlers["close"].task())

    async with bench.working():
        [task] = await bench.finished(task_id)

    text = task.error or ""
    assert text.startswith("ValueError: the day was not closed (while handling ConnectionError: the bank is closed)\n")
    assert "ExceptionGroup: calls (1 sub-exception)" in text
    assert "in call_the_bank" in text
    assert "of shop 7" in text
    assert "rolecall/" not in text.replace("rolecall/tests", "")
    assert "asyncio/" not in text


async def test_log_and_database_store_the_same_error_text(bench: Bench) -> None:
    stream = io.StringIO()
    set_up_logging(LogSettings(format=LogFormat.json, level=LogLevel.info), stream)
    as_async(bench.app)
    [task_id] = bench.enqueue(bench.app.handlers["close"].task())

    async with bench.working():
        [task] = await bench.finished(task_id)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["traceback"] for line in lines if "traceback" in line] == [task.error]


async def test_stop_iteration_in_a_plain_handler_shows_its_line(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    def take() -> object:
        return next(iter(()))

    [task_id] = bench.enqueue(take.task())

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert "return next(iter(()))" in (task.error or "")
    assert "StopIteration" in (task.error or "").partition("\n")[0]


async def test_retries_and_permanent_failures_store_their_whole_chain_of_causes(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    async def end(how: str) -> None:
        try:
            crunching.close_the_day()
        except ValueError as error:
            raise (Retry(after=1) if how == "retry" else PermanentFailure()) from error

    ids = bench.enqueue(end.task(how="retry"), end.task(how="for good"))

    async with bench.working():
        tasks = await bench.finished(*ids)

    for task in tasks:
        assert (task.error or "").startswith("ValueError: the day was not closed (while handling ConnectionError: ")
        assert "in call_the_bank" in (task.error or "")


async def test_longest_error_text_is_stored_within_a_limit(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    async def shout() -> None:
        raise ExceptionGroup("ü" * 10_000, [ValueError("ä" * 10_000) for _ in range(20)])

    [task_id] = bench.enqueue(shout.task())

    async with bench.working():
        [task] = await bench.finished(task_id)

    assert 10_000 < len((task.error or "").encode()) <= 16_000


class Hostile(Exception):
    """An error whose `str` raises its argument."""

    def __str__(self) -> str:
        raise self.args[0]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, ValueError])
@pytest.mark.parametrize("process", [False, True])
async def test_error_whose_str_raises_does_not_stop_the_worker(
    bench: Bench, end: type[BaseException], *, process: bool
) -> None:
    handler: Any
    if process:
        handler = bench.app.task("odd", max_attempts=1, process=True)(crunching.raise_hostile)
    else:

        @bench.app.task("odd", max_attempts=1)
        async def odd(kind: str) -> None:
            raise Hostile(end())

        handler = odd
    ids = bench.enqueue(*(handler.task(kind=end.__name__) for _ in range(2)))

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert all(end.__name__ in (task.error or "") for task in tasks)


class Price:
    """A value whose codec raises an error whenever it is used."""


def interrupt(_value: object) -> Any:
    raise KeyboardInterrupt


register_codec(Price, encode=interrupt, decode=interrupt, schema={"type": "integer"})


@dataclass
class Purchase:
    price: Price | None = None


async def test_user_code_around_a_handler_does_not_stop_the_worker(bench: Bench) -> None:
    """Covers codecs of results and of batch payloads, and `then=` rules."""

    @bench.app.task("price", max_attempts=1)
    async def price() -> object:
        return Price()

    @bench.app.task("follow", max_attempts=1, then=interrupt)
    async def follow() -> None: ...

    @bench.app.task("buy", max_attempts=1, batch=2)
    async def buy(items: list[Purchase]) -> None: ...

    bought = buy.task().options(payload={"price": 7})
    ids = bench.enqueue(price.task(), follow.task(), bought, price.task())

    async with bench.working(slots=1):
        tasks = await bench.finished(*ids)

    assert [task.state for task in tasks] == ["completed", "failed", "failed", "completed"]
    assert "KeyboardInterrupt" in tasks[0].result.why
    assert all((task.error or "").startswith("KeyboardInterrupt") for task in tasks[1:3])


async def test_redacted_value_is_removed_before_the_error_text_is_truncated(bench: Bench) -> None:
    """Covers the end of a truncated message, a note, a member of a group, and a process."""

    @bench.app.task(max_attempts=1)
    async def pay(token: Annotated[str, Redacted]) -> None:
        error = ValueError("x" * 3_990 + token)
        error.add_note("y" * 3_990 + token)
        raise ExceptionGroup("calls", [error, KeyError("z" * 490 + token)])

    apart = bench.app.task("apart", max_attempts=1, process=True)(crunching.refuse_at_length)
    ids = bench.enqueue(pay.task(token=CANARY), apart.task(token=CANARY))

    async with bench.working():
        tasks = await bench.finished(*ids)

    for task in tasks:
        assert task.error
        assert CANARY[:6] not in task.error


def test_procedure_error_text_has_the_same_limit_as_a_worker_error(bench: Bench) -> None:
    longest = bench.ask("select length(rolecall.failure_text(repeat('x', 20000), null, null, null))")

    assert longest == 16_000
