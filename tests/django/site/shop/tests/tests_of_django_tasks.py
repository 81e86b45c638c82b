"""Django's own tasks, from Django 6: how they are stored in the pool, and what Django reports of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import skipUnless

from django.conf import settings
from django.db import transaction
from django.test import TestCase, override_settings
from django.utils import timezone

from rolecall import HandlerError
from rolecall.django import client
from rolecall.testing.django import run_tasks
from shop.models import Order
from shop.tasks import send_receipt

if settings.SIX:
    from django.tasks import TaskResultStatus, default_task_backend, task_backends
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started

    from rolecall.django.results import error_of
    from shop.django_tasks import add, echo, fail, name_customer
    from shop.tests import elsewhere

BACKEND = "rolecall.django.tasks.RolecallBackend"


@skipUnless(settings.SIX, "Django has tasks from 6.0 on")
class Tasks(TestCase):
    """A task of Django's is a task of the pool."""

    def test_django_task_becomes_a_handler_and_its_queue_a_role(self) -> None:
        result = name_customer.enqueue(7)

        stored = client.get(int(result.id))
        self.assertEqual((stored.handler, stored.role), ("shop.django_tasks.name_customer", "reports"))
        self.assertEqual(stored.priority, 7)
        self.assertEqual(stored.payload, {"args": [7], "kwargs": {}, "backend": "default"})

    def test_priority_queue_and_run_after_are_stored_as_requested(self) -> None:
        later = datetime(2040, 1, 1, tzinfo=UTC)
        result = add.using(priority=-100, queue_name="reports", run_after=later).enqueue(1)

        stored = client.get(int(result.id))
        self.assertEqual((stored.priority, stored.role, stored.scheduled_for), (-100, "reports", later))
        self.assertEqual(
            (result.task.priority, result.task.queue_name, result.task.run_after), (-100, "reports", later)
        )
        self.assertEqual(default_task_backend.get_result(result.id), result)

    def test_task_of_a_rolled_back_block_does_not_exist(self) -> None:
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            result = add.enqueue(1)
            undo()

        with self.assertRaises(TaskResultDoesNotExist):
            default_task_backend.get_result(result.id)

    def test_result_shows_the_outcome_of_the_task(self) -> None:
        result = add.enqueue(1, b=2)
        self.assertEqual((result.status, result.attempts), (TaskResultStatus.READY, 0))

        run_tasks()
        result.refresh()

        self.assertEqual((result.status, result.return_value), (TaskResultStatus.SUCCESSFUL, 3))
        self.assertEqual((result.attempts, len(result.worker_ids), result.errors), (1, 1, []))
        self.assertLessEqual(result.enqueued_at, result.started_at)
        self.assertLessEqual(result.started_at, result.finished_at)

    def test_async_task_can_read_the_rows(self) -> None:
        result = name_customer.enqueue(Order.objects.create(customer="Ada").pk)

        run_tasks()

        self.assertEqual(name_customer.get_result(result.id).return_value, "Ada")

    def test_each_attempt_has_its_error_with_class_and_traceback(self) -> None:
        result = fail.enqueue()

        run_tasks(raising=False)
        result.refresh()

        self.assertEqual(result.status, TaskResultStatus.FAILED)
        self.assertEqual((result.attempts, len(result.errors)), (5, 5))
        self.assertIs(result.errors[0].exception_class, LookupError)
        self.assertRegex(result.errors[4].traceback, r"(?s)^Traceback .*, in fail\n.*\nLookupError: attempt 5\n$")

    def test_failure_without_an_exception_has_an_empty_error_list(self) -> None:
        result = add.enqueue(1)
        client.cancel(int(result.id))
        result.refresh()
        self.assertEqual((result.status, result.errors), (TaskResultStatus.FAILED, []))

    def test_error_without_a_message_still_has_its_class(self) -> None:
        traceback = (
            'Traceback (most recent call last):\n  File "shop.py", line 7, in fail\n    raise LookupError\nLookupError'
        )
        raised = error_of(f"LookupError\n{traceback}")
        caused = error_of(f"LookupError (caused by KeyError: 7)\n{traceback}")
        lost = error_of("the handler did not finish within 5 s")

        self.assertIs(raised.exception_class, LookupError)
        self.assertIs(caused.exception_class, LookupError)
        self.assertEqual(raised.traceback, f"{traceback}\n")
        self.assertIs(lost.exception_class, HandlerError)

    def test_signals_are_sent_at_each_start_and_at_the_end(self) -> None:
        output: list[tuple[str, str, int]] = []

        def hear(signal: object, task_result: Any, **_rest: object) -> None:
            names = {task_enqueued: "enqueued", task_started: "started", task_finished: "finished"}
            output.append((names[signal], str(task_result.status), task_result.attempts))

        for signal in (task_enqueued, task_started, task_finished):
            signal.connect(hear)
            self.addCleanup(signal.disconnect, hear)
        add.enqueue(1)
        run_tasks()
        fail.enqueue()
        with self.assertLogs("django.tasks", "ERROR"):
            run_tasks(raising=False)

        self.assertEqual(
            output[:3], [("enqueued", "READY", 0), ("started", "RUNNING", 1), ("finished", "SUCCESSFUL", 1)]
        )
        self.assertEqual(output[4:], [*(("started", "RUNNING", n) for n in range(1, 6)), ("finished", "FAILED", 5)])

    def test_arguments_arrive_in_their_json_form(self) -> None:
        result = echo.enqueue(pair=(1, 2), nothing=None)

        run_tasks()
        result.refresh()

        self.assertEqual(result.return_value, {"pair": [1, 2], "nothing": None})

    def test_task_in_a_queue_without_workers_is_rejected_immediately(self) -> None:
        with self.assertRaisesMessage(InvalidTask, "shop.tests.elsewhere.lost is not imported by workers"):
            elsewhere.lost.enqueue()

    def test_id_of_a_non_django_task_has_no_result(self) -> None:
        for wrong in (str(send_receipt.enqueue(order_id=1).id), "999999999", "9" * 30, "seven", ""):
            with self.subTest(wrong), self.assertRaises(TaskResultDoesNotExist):
                default_task_backend.get_result(wrong)

    def test_unconfigured_queue_becomes_a_role_if_any_queue_is_allowed(self) -> None:
        with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": []}}):
            result = add.using(queue_name="another").enqueue(1)

        self.assertEqual(client.get(int(result.id)).role, "another")

    @override_settings(USE_TZ=False)
    def test_times_are_local_without_time_zone_support(self) -> None:
        result = add.using(run_after=datetime(2040, 1, 1)).enqueue(1)  # noqa: DTZ001 - that is the case

        self.assertIsNone(result.enqueued_at.tzinfo)
        self.assertLess(abs(result.enqueued_at - timezone.now()), timedelta(minutes=5))
        self.assertEqual(client.get(int(result.id)).scheduled_for, datetime(2040, 1, 1))  # noqa: DTZ001 - the same

    def test_queue_that_cannot_be_a_role_is_reported_by_the_checks(self) -> None:
        with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": ["first class!"]}}):
            [problem] = list(task_backends["default"].check())

        self.assertIn("'first class!' cannot be a role", problem.msg)
        self.assertEqual(list(default_task_backend.check()), [])

    def test_name_too_long_for_a_handler_is_truncated(self) -> None:
        self.assertRegex(
            elsewhere.short_name(elsewhere.a_task_with_a_name_that_is_longer_than_the_name_of_a_handler_may_be),
            r"^t-shop\.tests\.elsewhere\.a_task_with.*-[0-9a-f]{8}$",
        )


def undo() -> None:
    raise ZeroDivisionError
