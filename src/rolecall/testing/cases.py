"""Unittest test cases with a database each, a client, a clock and assertions."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

import psycopg

from rolecall.app import App
from rolecall.client.sync_client import Client
from rolecall.db.connect import connect
from rolecall.model.errors import ConfigError
from rolecall.model.tasks import Task
from rolecall.testing.clock import Clock
from rolecall.testing.databases import clone, prepare
from rolecall.testing.draining import Drained, drain_sync
from rolecall.testing.enqueued import assert_enqueued, assert_not_enqueued
from rolecall.testing.expectation import AnyHandler
from rolecall.testing.in_transaction import inline
from rolecall.testing.schedules import Fired, fire_schedules
from rolecall.testing.servers import of_this_process, template_of_this_process
from rolecall.worker.options import WorkerOptions


class RolecallTestCase(unittest.TestCase):
    """Gives each test a new, migrated `database`, a `connection` to it, a `task_client` and a `clock`.

        class BillingTests(RolecallTestCase):
            app = app

            def test_an_order_is_billed(self) -> None:
                self.task_client.enqueue(bill, order=7)
                self.drain()
                self.assertEnqueued(send, order=7, state="completed")

    Put it before other base classes: `class Tests(RolecallTestCase, unittest.IsolatedAsyncioTestCase)`, or a test case
    of Django's. The server is that of `rolecall.testing.plugin`, started once per process. With `own_database`
    (anything that `dsn_of` accepts), all tests use that database. It is migrated, and committed changes persist.
    """

    app: ClassVar[App | None] = None
    own_database: ClassVar[object] = None
    database: str
    connection: psycopg.Connection[Any]
    task_client: Client
    clock: Clock

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        if cls.own_database is not None:
            prepare(cls.own_database, *([cls.app] if cls.app else []))

    def setUp(self) -> None:
        super().setUp()
        self.database = self._make_database()
        self.connection = self.enterContext(connect(self.database, "test"))
        self.task_client = self.enterContext(Client(self.database, app=self.app))
        self.clock = Clock(self.database)
        self.clock.follow(self.connection)
        self.addCleanup(self.clock.restart)

    def assertEnqueued(  # noqa: N802 - unittest's naming
        self,
        handler: AnyHandler | None = None,
        payload: Mapping[str, object] | None = None,
        /,
        *,
        times: int | None = None,
        **words: Any,
    ) -> list[Task]:
        """Like `assert_enqueued`, for the test's database."""
        if handler is None or isinstance(handler, str):
            return assert_enqueued(self.database, handler, payload, times=times, **words)
        return assert_enqueued(self.database, handler, payload, times=times, **words)

    def assertNotEnqueued(  # noqa: N802 - unittest's naming
        self, handler: AnyHandler | None = None, payload: Mapping[str, object] | None = None, /, **words: Any
    ) -> None:
        """Like `assert_not_enqueued`, for the test's database."""
        assert_not_enqueued(self.database, handler, payload, **words)

    def drain(
        self,
        options: WorkerOptions | None = None,
        *,
        timeout: float = 30.0,
        clock: Clock | None = None,
        until: datetime | timedelta | None = None,
        schedules: bool = False,
    ) -> Drained:
        """Like `rolecall.testing.drain`, for the test's app and database. Async tests can call it as well."""
        return drain_sync(
            self._required_app(),
            self.database,
            options,
            timeout=timeout,
            clock=clock,
            until=until,
            schedules=schedules,
        )

    def inline(self, *, most: int = 1_000, raising: bool = True) -> list[Task]:
        """Like `rolecall.testing.inline`, in the transaction of the test's `connection`."""
        return inline(self._required_app(), self.connection, most=most, raising=raising)

    def fire_schedules(self, *, until: datetime | timedelta | None = None) -> list[Fired]:
        """Like `rolecall.testing.fire_schedules`, for the test's app, database and clock."""
        return fire_schedules(self._required_app(), self.database, clock=self.clock, until=until)

    def _make_database(self) -> str:
        if self.own_database is not None:
            return prepare(self.own_database)
        return self.enterContext(clone(of_this_process(), template_of_this_process(self.app)))

    def _required_app(self) -> App:
        if self.app is None:
            raise ConfigError("set `app = ...` in the test case", variable="app")
        return self.app
