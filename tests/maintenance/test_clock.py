"""Steps of the server's clock, as a process notices them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar, cast

import pytest

from rolecall.maintenance.clock import Reading
from rolecall.maintenance.runner import MaintenanceRunner
from rolecall.model.workers import DutyStatus
from rolecall.sql.statement import Statement
from rolecall.worker.session import DatabaseSessions
from tests.worker.bench import Bench, until

T = TypeVar("T")


@pytest.mark.parametrize(
    ("later", "seconds"),
    [
        (Reading(9.0, 9.1, 1009.0, 0), None),
        (Reading(9.0, 9.1, 1013.0, 0), None),
        (Reading(9.0, 69.0, 1068.0, 0), None),
        (Reading(9.0, 69.0, 1010.0, 0), None),
        (Reading(9.0, 9.1, 1609.05, 0), 600),
        (Reading(9.0, 12.0, 1609.0, 0), 600),
        (Reading(9.0, 9.1, 409.05, 0), -600),
    ],
    ids=["none", "short", "late answer", "early answer", "forward", "forward with a slow answer", "back"],
)
def test_step_is_found_only_if_no_delay_explains_it(later: Reading, seconds: float | None) -> None:
    step = later.find_step_since(Reading(0.0, 0.1, 1000.05, 0))

    assert (step and round(step.seconds)) == seconds


def test_step_names_the_skipped_time() -> None:
    step = Reading(9.0, 10.0, 1610.0, 7).find_step_since(Reading(0.0, 0.0, 1000.0, 6))

    assert step is not None
    assert (step.steps, step.after, step.before) == (6, 1010.0, 1600.0)


class SetsTheClock:
    """A session of a server whose clock is set forward by `seconds` after the first reading."""

    def __init__(self, session: Any, seconds: float) -> None:
        self._session, self._seconds, self._has_been_read = session, seconds, False

    async def run(self, statement: Statement[T]) -> T:
        answer: Any = await self._session.run(statement)
        if isinstance(answer, DutyStatus) and self._has_been_read:
            answer = replace(answer, server_time=answer.server_time + self._seconds)
        self._has_been_read |= isinstance(answer, DutyStatus)
        return cast("T", answer)


async def test_maintenance_moves_deadlines_with_the_clock(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    enough = asyncio.Event()

    @bench.app.task
    async def work() -> None:
        await enough.wait()

    (task_id,) = bench.enqueue(work.task())
    session = DatabaseSessions(bench.dsn, deadline=5).open("maintain")
    async with bench.working():
        deadline = (await bench.state(task_id, "running")).deadline_at
        assert deadline is not None
        runner = MaintenanceRunner(SetsTheClock(session, 600), ())
        with caplog.at_level(logging.WARNING, "rolecall.maintenance"):
            running = asyncio.create_task(runner.run())
            await until(lambda: bench.task(task_id).deadline_at != deadline)
        runner.stop()
        await running
        moved = bench.task(task_id).deadline_at
        enough.set()

    assert moved is not None
    assert abs(moved - deadline - timedelta(seconds=600)) < timedelta(seconds=5)
    assert "was set forward by 600 s" in caplog.text
    await session.close()
