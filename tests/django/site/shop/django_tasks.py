"""Tasks of Django's own, from Django 6 on."""

from __future__ import annotations

from typing import Any

from django.tasks import TaskContext, task

from shop.models import Order


@task
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@task(queue_name="reports", priority=7)
async def name_customer(order_id: int) -> str:
    """Tell whose order it is."""
    return str((await Order.objects.aget(pk=order_id)).customer)


@task(takes_context=True)
def fail(context: TaskContext) -> None:
    """Fail each time."""
    raise LookupError(f"attempt {context.attempt}")


@task
def echo(**words: Any) -> dict[str, Any]:
    """Return what was given."""
    return words
