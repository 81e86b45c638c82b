"""The shop's tests: each in its own transaction, including tasks and their effects."""

from __future__ import annotations

from typing import Any

from django.core import mail
from django.core.exceptions import ValidationError
from django.test import TestCase

from orders.models import Invoice, Order
from orders.tasks import report_sales
from rolecall.django.models import Task
from rolecall.testing.django import run_tasks

ORDER = {"customer": "Ada", "email": "ada@example.org", "pence": 450}


class OrderTest(TestCase):
    """Requests and the tasks that follow from them."""

    def place(self, **changes: object) -> Any:
        """Send an order as a customer's browser does."""
        return self.client.post("/orders/", {**ORDER, **changes}, content_type="application/json")

    def test_an_order_is_billed_and_the_invoice_mailed(self) -> None:
        placed = self.place().json()

        run_tasks()

        invoice = Invoice.objects.get(order=placed["order"])
        self.assertIsNotNone(invoice.mailed_at)
        self.assertIn("Dear Ada, please pay 4.50 GBP", mail.outbox[0].body)

    def test_an_order_that_is_refused_leaves_no_task(self) -> None:
        with self.assertRaises(ValidationError):
            self.place(email="nobody")

        self.assertEqual((Order.objects.count(), Task.objects.count()), (0, 0))

    def test_the_report_counts_what_was_ordered(self) -> None:
        self.place()
        report_sales.enqueue()

        results = {task.handler: task.result for task in run_tasks()}

        self.assertEqual(results["report_sales"], {"orders": 1, "pence": 450})
