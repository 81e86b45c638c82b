"""unittest test cases with their own databases."""

# ruff: noqa: PT009, PT027 - users of unittest write these
from __future__ import annotations

import os
import subprocess
import sys
import unittest
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import create_engine

from rolecall import App, AsyncClient, ConfigError, linear
from rolecall.testing import RolecallTestCase, drain, url_of
from rolecall.testing.memory import MEMORY, PREFIX

HERE = "tests.testing.test_cases"
START = datetime(2026, 1, 1, tzinfo=UTC)
app = App("shop")


@app.task
async def send(order: int) -> str:
    return f"sent {order}"


@app.task(max_attempts=2, retry=linear(step=3600, cap=86_400))
async def stumble() -> None:
    raise ValueError("over a stone")


app.schedule("nightly", send, cron="0 4 * * *", payload={"order": 1})


class PlainTests(RolecallTestCase):
    app = app

    def test_enqueued_tasks_can_be_asserted_and_run(self) -> None:
        self.task_client.enqueue(send, order=7)

        [task] = self.assertEnqueued(send, order=7)
        self.assertNotEnqueued("send", {"order": 8})
        self.drain()

        self.assertEqual(self.task_client.get(task.id).result, "sent 7")
        with self.assertRaisesRegex(AssertionError, "no task of 'send' with order=8 was enqueued"):
            self.assertEnqueued(send, order=8)

    def test_each_test_has_its_own_database(self) -> None:
        self.assertNotEnqueued()

    def test_clock_can_be_advanced_by_hours(self) -> None:
        self.clock.set(START)
        task = self.task_client.enqueue(stumble)

        self.drain(clock=self.clock)

        self.assertEqual(self.task_client.get(task.id).finished_at, START + timedelta(hours=1))

    def test_schedules_fire_in_a_test_case(self) -> None:
        self.clock.set(START)

        [fired] = self.fire_schedules(until=timedelta(days=1))

        self.assertEqual(fired.slot, START + timedelta(hours=4))

    def test_transaction_is_rolled_back_after_the_test(self) -> None:
        with self.connection.transaction(force_rollback=True):
            self.task_client.enqueue(send.task(order=7), connection=self.connection)
            [done] = self.inline()

        self.assertEqual(done.result, "sent 7")
        self.assertNotEnqueued()


class AsyncTests(RolecallTestCase, unittest.IsolatedAsyncioTestCase):
    app = app

    async def test_async_code_can_be_tested_too(self) -> None:
        async with AsyncClient(self.database, app=app) as client:
            await client.enqueue(send, order=7)
        await drain(app, self.database)
        self.drain()

        self.assertEnqueued(send, state="completed")


class WithoutApp(RolecallTestCase):
    def test_method_that_needs_an_app_reports_the_missing_app(self) -> None:
        with self.assertRaisesRegex(ConfigError, "app: set `app = ...` in the test case"):
            self.drain()


def test_own_database_is_used_by_all_tests(database: str) -> None:
    engine = create_engine(url_of(database, "psycopg"))

    class OwnTests(RolecallTestCase):
        own_database: ClassVar[Any] = engine
        app = app

        def test_it(self) -> None:
            self.task_client.enqueue(send, order=7)
            self.clock.set(START)

        def test_once_more(self) -> None:
            self.assertGreater(self.clock.now(), START)

    try:
        result = unittest.TestResult()
        unittest.TestSuite([OwnTests("test_it"), OwnTests("test_once_more")]).run(result)
        assert (result.testsRun, result.errors, result.failures) == (2, [], [])
        with engine.connect() as connection:
            assert connection.exec_driver_sql("select count(*) from rolecall.tasks").scalar() == 1
    finally:
        engine.dispose()


def test_unittest_alone_runs_the_cases_and_leaves_nothing_behind() -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "ROLECALL_TEST"))}
    runner = subprocess.Popen(
        [sys.executable, "-m", "unittest", "-v", f"{HERE}.WithoutApp", f"{HERE}.AsyncTests"],
        env=alone,
        stderr=subprocess.PIPE,
        text=True,
    )

    _, output = runner.communicate()

    assert runner.returncode == 0, output
    assert "Ran 2 tests" in output
    assert not (MEMORY / f"{PREFIX}{runner.pid}").exists()
