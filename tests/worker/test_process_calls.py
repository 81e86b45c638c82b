"""An async handler calls a function in a child process, which is killed when the handler must stop."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from rolecall import Context, HandlerError, PermanentFailure
from tests.worker import crunching
from tests.worker.bench import SOON, Bench, until

AT = datetime(2026, 1, 1, tzinfo=UTC)


async def test_function_in_a_process_accepts_and_returns_objects(bench: Bench) -> None:
    given: list[crunching.Box] = []

    @bench.app.task
    async def pile(ctx: Context) -> None:
        given.append(await ctx.in_process(crunching.stack, crunching.Box(2, 3, AT), times=4))

    (task_id,) = bench.enqueue(pile.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, given) == ("completed", [crunching.Box(2, 12, AT)])


@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [
        (crunching.spoil, ("the attic",), "LookupError: no box in the attic"),
        (crunching.unhandable, (), "pickle"),
        (lambda: None, (), "is not its function"),
    ],
    ids=["raises", "returns what cannot be pickled", "stands inside another"],
)
async def test_errors_of_a_function_in_a_process_are_reported(
    bench: Bench, function: Any, arguments: tuple[str, ...], says: str
) -> None:
    @bench.app.task(max_attempts=1)
    async def pile(ctx: Context) -> None:
        await ctx.in_process(function, *arguments)

    (task_id,) = bench.enqueue(pile.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, says in (task.error or "")) == ("failed", True), task.error


async def test_handler_can_catch_an_error_raised_in_a_process(bench: Bench) -> None:
    @bench.app.task
    async def pile(ctx: Context) -> None:
        try:
            await ctx.in_process(crunching.spoil, "the attic")
        except HandlerError as error:
            raise PermanentFailure("it is empty") from error

    (task_id,) = bench.enqueue(pile.task())
    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt, "it is empty" in (task.error or "")) == ("failed", 1, True)


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_function_that_never_returns_is_killed_with_its_task(bench: Bench, tmp_path: Path, how: str) -> None:
    timeout = 3.0 if how == "timeout" else None

    @bench.app.task(lease=60, max_attempts=1, timeout=timeout)
    async def pile(ctx: Context) -> None:
        await ctx.in_process(crunching.stick, str(tmp_path))

    (task_id,) = bench.enqueue(pile.task())
    sign = tmp_path / "begun-1"
    async with bench.working():
        if how == "cancel":
            await until(sign.exists)
            bench.cancel(task_id)
        (task,) = await bench.finished(task_id, within=SOON)
        alive = [pid for pid in map(int, [sign.read_text()] if sign.exists() else []) if psutil.pid_exists(pid)]

    assert (task.state, alive) == ("failed" if how == "timeout" else "cancelled", [])
