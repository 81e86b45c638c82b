"""Run a Django project's tasks in the transaction of a TestCase."""

from __future__ import annotations

from django.db import connections

from rolecall.django.connections import database_alias
from rolecall.django.project import program
from rolecall.model.errors import ConfigError
from rolecall.model.tasks import Task
from rolecall.testing.in_transaction import inline


def run_tasks(*, most: int = 1_000, raising: bool = True) -> list[Task]:
    """Run due tasks and everything that follows from them in the test's transaction. Return the tasks, like `inline`.

        class OrderTest(TestCase):
            def test_an_order_gets_its_receipt(self):
                self.client.post("/orders/", {"customer": "Ada"})
                run_tasks()
                self.assertEqual(Order.objects.get().receipt, "for Ada")

    Handlers use the test's connections, so that each sees the other's writes. Raises ConfigError outside of a
    transaction, and the exception of a permanently failed task unless `raising` is False.
    """
    connection = connections[database_alias()]
    if not connection.in_atomic_block:
        raise ConfigError("needs a transaction: that of a TestCase, or atomic()", variable="run_tasks")
    open_ones = {each.alias: each for each in connections.all(initialized_only=True)}
    with program.connections.share(open_ones):
        ran: list[Task] = inline(program, connection.connection, most=most, raising=raising)
        return ran
