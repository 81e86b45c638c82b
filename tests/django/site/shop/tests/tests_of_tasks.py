"""Handlers in a project: tasks join its transactions, and find its rows."""

from __future__ import annotations

from django.db import connection, transaction
from django.test import TestCase

from rolecall import InvalidDeclaration, InvalidPayload
from rolecall.django import app, client
from rolecall.django.models import Schedule, Task
from rolecall.django.project import program
from rolecall.testing.django import run_tasks
from shop.models import Order
from shop.tasks import count_apart, count_orders, refuse, send_receipt, send_reminder, session


class Enqueued(TestCase):
    """A task and the rows of a view are committed together or not at all."""

    def test_task_of_a_view_is_committed_with_its_rows(self) -> None:
        answer = self.client.get("/orders/", {"customer": "Ada"})

        self.assertEqual(
            [(task.handler, task.payload, task.state) for task in Task.objects.all()],
            [("send_receipt", {"order_id": int(answer.content)}, "pending")],
        )

    def test_task_is_rolled_back_with_the_rows_of_a_failing_view(self) -> None:
        with self.assertRaisesMessage(ValueError, "nobody orders"):
            self.client.get("/orders/", {"customer": "nobody"})

        self.assertEqual((Order.objects.count(), Task.objects.count()), (0, 0))

    def test_rolled_back_nested_block_removes_its_task(self) -> None:
        send_receipt.enqueue(order_id=1)
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            send_receipt.enqueue(order_id=2)
            undo()

        self.assertEqual([task.payload["order_id"] for task in Task.objects.all()], [1])

    def test_invalid_payload_is_rejected_and_does_not_affect_the_transaction(self) -> None:
        with self.assertRaises(InvalidPayload):
            client.enqueue(send_receipt, {"order_id": "first"})

        self.assertEqual(Task.objects.count(), 0)

    def test_client_reads_uncommitted_tasks_of_the_transaction(self) -> None:
        stored = client.enqueue(send_receipt, order_id=1)

        self.assertEqual(client.get(stored).status, "ready")
        self.assertEqual(client.cancel(stored.id), {stored.id: "cancelled"})

    def test_app_cannot_run_without_the_program(self) -> None:
        with self.assertRaisesMessage(InvalidDeclaration, "use rolecall.django.worker:app"):
            app.check()

        program.check()

    def test_models_of_tasks_and_schedules_are_read_only(self) -> None:
        client.enqueue(send_receipt, order_id=1)
        [task] = Task.objects.all()

        for write in (task.save, task.delete, Task.objects.all().delete, Schedule.objects.create):
            with self.subTest(write), self.assertRaisesMessage(TypeError, "these rows are read-only"):
                write()
        with self.assertRaisesMessage(TypeError, "these rows are read-only"):
            Task.objects.update(role="mine")

    def test_after_commit_call_is_a_django_on_commit_callback(self) -> None:
        output: list[str] = []
        with self.captureOnCommitCallbacks(execute=True), client.transaction() as psycopgs:
            psycopgs.execute("select 1")
            client.after_commit(lambda: output.append("committed"))

        self.assertEqual(output, ["committed"])

    def test_handler_declared_too_late_for_workers_is_rejected(self) -> None:
        with self.assertRaisesMessage(InvalidDeclaration, "make declarations before that"):
            app.task(name="late")(lambda: None)


class EnqueuedAwaited(TestCase):
    """The same in a coroutine, through the thread of Django's connections."""

    async def test_task_is_enqueued_in_the_tests_transaction(self) -> None:
        stored = await send_receipt.aenqueue(order_id=7)

        self.assertEqual((await Task.objects.aget()).id, stored.id)


class Run(TestCase):
    """Tasks of a test run in its transaction."""

    def test_plain_handler_and_test_see_each_others_rows(self) -> None:
        order = Order.objects.create(customer="Ada")
        send_receipt.enqueue(order_id=order.pk)

        [task] = run_tasks()

        order.refresh_from_db()
        self.assertEqual((task.result, order.receipt), ("for Ada", "for Ada"))

    def test_async_handler_sees_the_rows_of_the_test(self) -> None:
        send_reminder.enqueue(order_id=Order.objects.create(customer="Ada").pk)

        self.assertEqual([task.result for task in run_tasks()], ["remember, Ada"])

    def test_exception_in_a_task_is_raised_in_the_test(self) -> None:
        refuse.enqueue()

        with self.assertRaisesMessage(RuntimeError, "refused 2 times"):
            run_tasks()

    def test_failed_task_contains_its_error_if_raising_is_off(self) -> None:
        refuse.enqueue()

        self.assertEqual([task.state for task in run_tasks(raising=False)], ["failed"])

    def test_process_handler_is_available(self) -> None:
        count_orders.enqueue()

        [task] = run_tasks()

        self.assertEqual(task.result["orders"], 0)

    def test_function_called_in_a_process_has_the_django_project(self) -> None:
        count_apart.enqueue()

        self.assertEqual([task.result for task in run_tasks()], [0])

    def test_handler_uses_the_session_of_the_test(self) -> None:
        session.enqueue()
        with connection.cursor() as cursor:
            cursor.execute("select pg_backend_pid()")
            own = cursor.fetchone()[0]

        self.assertEqual([task.result for task in run_tasks()], [own])


def undo() -> None:
    raise ZeroDivisionError
