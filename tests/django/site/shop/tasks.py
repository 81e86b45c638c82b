"""Handlers, as workers find them."""

from __future__ import annotations

import os
from typing import Annotated

from django.db import connection
from django.utils import timezone, translation

from rolecall import Context, Redacted
from rolecall.django import app
from shop.models import Order


@app.task(role="mail")
def send_receipt(order_id: int) -> str:
    """Write a receipt and store it."""
    order = Order.objects.get(pk=order_id)
    order.receipt = f"for {order.customer}"
    order.save()
    return str(order.receipt)


@app.task(role="mail")
async def send_reminder(order_id: int) -> str:
    """Write a reminder, in a coroutine."""
    order = await Order.objects.aget(pk=order_id)
    return f"remember, {order.customer}"


@app.task(role="mail", max_attempts=2)
def refuse(ctx: Context) -> None:
    """Fail."""
    raise RuntimeError(f"refused {ctx.attempt} times")


@app.task(role="reports", process=True)
def count_orders() -> dict[str, int]:
    """Count in a child process."""
    return {"orders": Order.objects.count(), "pid": os.getpid()}


def count() -> int:
    """Count in this process."""
    return int(Order.objects.count())


@app.task(role="reports")
async def count_apart(ctx: Context) -> int:
    """Start a child process that counts."""
    return await ctx.in_process(count)


@app.task(role="reports")
def session() -> int:
    """Return the Postgres session of this thread."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        return int(cursor.fetchone()[0])


@app.task(role="mail")
def log_in(password: Annotated[str, Redacted]) -> Annotated[str, Redacted]:
    """Handle a redacted value."""
    return password


@app.task(role="settings")
async def greet_abroad() -> list[str]:
    """Return the language and time zone of this attempt, then activate those of one customer."""
    found = [translation.get_language(), timezone.get_current_timezone_name()]
    translation.activate("de")
    timezone.activate("Asia/Tokyo")
    return found
