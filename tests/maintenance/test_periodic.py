from __future__ import annotations

import asyncio
import logging

import pytest

from rolecall.maintenance.periodic import Periodic
from rolecall.model.errors import DatabaseUnavailable
from tests.worker.bench import until

LOG = logging.getLogger("rolecall.test")


class Counted:
    """A duty that counts its calls, and fails on request."""

    def __init__(self, *failures: Exception) -> None:
        self.calls = 0
        self._failures = list(failures)

    async def once(self) -> None:
        self.calls += 1
        if self._failures:
            raise self._failures.pop(0)


async def test_first_call_runs_immediately_and_then_repeatedly() -> None:
    duty = Counted()
    loop = Periodic("Duty", duty.once, every=0.02, log=LOG)
    running = asyncio.create_task(loop.run())

    await until(lambda: duty.calls >= 3)

    loop.stop()
    await asyncio.wait_for(running, 5)


async def test_stop_lets_the_current_call_finish() -> None:
    going, enough, ended = asyncio.Event(), asyncio.Event(), False

    async def once() -> None:
        nonlocal ended
        going.set()
        await enough.wait()
        ended = True

    loop = Periodic("Duty", once, every=60, log=LOG)
    running = asyncio.create_task(loop.run())
    await going.wait()
    loop.stop()
    enough.set()
    await asyncio.wait_for(running, 5)

    assert ended


async def test_nudge_advances_the_next_call() -> None:
    duty = Counted()
    loop = Periodic("Duty", duty.once, every=60, log=LOG)
    running = asyncio.create_task(loop.run())
    await until(lambda: duty.calls == 1)
    loop.nudge()

    await until(lambda: duty.calls == 2)

    loop.stop()
    await running


async def test_error_is_logged_and_the_loop_continues(caplog: pytest.LogCaptureFixture) -> None:
    duty = Counted(DatabaseUnavailable("the server restarts"), ZeroDivisionError("a bug"))
    loop = Periodic("Duty", duty.once, every=0.02, log=LOG)
    running = asyncio.create_task(loop.run())

    await until(lambda: duty.calls >= 4)

    loop.stop()
    await running
    expected, bug = caplog.records[:2]
    assert (expected.getMessage(), expected.exc_info) == ("Duty failed: the server restarts", None)
    assert bug.exc_info is not None
