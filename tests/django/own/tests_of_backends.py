"""Django's own tests of its backends, with Rolecall's in place of DummyBackend and ImmediateBackend.

The tests are neither copied nor changed: the names of these classes, in imports and settings, refer to Rolecall's
backend. The subclasses add only what a backend with a database needs: permission to use it, and an empty pool.
Tests that cannot apply to another backend are skipped, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from unittest import SkipTest

from django.db import connection, transaction
from django.tasks.backends import dummy, immediate
from django.test import TestCase

from rolecall.django import client
from rolecall.django.tasks import RolecallBackend
from rolecall.testing.django import run_tasks


class Stored(RolecallBackend):
    """Replaces DummyBackend: its list of enqueued tasks is read from the pool."""

    @property
    def results(self) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute("select id from rolecall.all_tasks order by id")
            return [self.get_result(str(found)) for (found,) in cursor.fetchall()]

    def clear(self) -> None:
        client.delete_chains([int(result.id) for result in self.results])


class Worked(Stored):
    """Replaces ImmediateBackend: tasks run as in a worker, and results are read from the pool."""

    def enqueue(self, task: Any, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
        with transaction.atomic():
            result = super().enqueue(task, args, kwargs)
            run_tasks(raising=False)
        return self.get_result(result.id)


dummy.DummyBackend, immediate.ImmediateBackend = Stored, Worked

from tasks import test_dummy_backend, test_immediate_backend, test_tasks  # noqa: E402 - they import the names above

DATABASES = frozenset({"default"})
IN_MEMORY = "it changes a status in the list that DummyBackend keeps in memory"
CANNOT = "it is about what ImmediateBackend cannot do, and ours can"
AT_ONCE = "it is about an exception that reaches who enqueues, as the task runs there"
LEFT_OUT: Mapping[str, str] = {
    "DummyBackendTestCase.test_refresh_result": IN_MEMORY,
    "DummyBackendTestCase.test_refresh_result_async": IN_MEMORY,
    "ImmediateBackendTestCase.test_cannot_get_result": CANNOT,
    "ImmediateBackendTestCase.test_cannot_refresh_result": CANNOT,
    "ImmediateBackendTestCase.test_cannot_pass_run_after": CANNOT,
    "ImmediateBackendTestCase.test_throws_keyboard_interrupt": AT_ONCE,
}


def on_ours(case: type) -> type:
    """Return a subclass of one of Django's test classes."""

    def set_up(self: Any) -> None:
        if why := LEFT_OUT.get(f"{case.__name__}.{self._testMethodName}"):
            raise SkipTest(why)
        Stored("default", {}).clear()
        case.setUp(self)  # type: ignore[attr-defined]  # unittest's

    return type(case.__name__, (case,), {"databases": DATABASES, "setUp": set_up, "__module__": __name__})


Tasks = on_ours(test_tasks.TaskTestCase)
Dummy = on_ours(test_dummy_backend.DummyBackendTestCase)
DummyInTransactions = on_ours(test_dummy_backend.DummyBackendTransactionTestCase)
Immediate = on_ours(test_immediate_backend.ImmediateBackendTestCase)
ImmediateInTransactions = on_ours(test_immediate_backend.ImmediateBackendTransactionTestCase)


class LeftOut(TestCase):
    """Every skipped test exists in Django."""

    def test_every_skipped_test_exists_in_django(self) -> None:
        for name in LEFT_OUT:
            case, _, test = name.partition(".")
            module = test_dummy_backend if case.startswith("Dummy") else test_immediate_backend
            self.assertTrue(callable(getattr(getattr(module, case), test)))
