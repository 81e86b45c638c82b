"""The tasks after an order: it is billed, one order of a customer at a time, and then confirmed by mail."""

from __future__ import annotations

from datetime import timedelta

import structlog

from rolecall import App, Context, exponential
from shop import mail
from shop.database import sessions
from shop.models import Invoice, Order, OrderStatus
from shop.schemas import Bill, PlacedOrder

orders = App("orders")
orders.role("billing", timeout=timedelta(seconds=30), max_attempts=10, retry=exponential(first=1, cap=300))
orders.role("mail", timeout=timedelta(seconds=30), max_attempts=20, retry=exponential(first=0.5, cap=3600))

log = structlog.stdlib.get_logger("shop.orders")


@orders.task(role="mail")
async def confirm(ctx: Context, bill: Bill) -> None:
    """Mail the customer, at least once, because a mail cannot be undone."""
    text = f"You owe us {bill.total} for order {bill.order_id}."
    await mail.send(bill.email, f"Invoice {bill.invoice}", text)
    async with sessions.begin() as session:
        order = await session.get_one(Order, bill.order_id)
        order.status = OrderStatus.CONFIRMED
        await ctx.complete(session)


@orders.task(role="billing", key="customer:{customer_id}")
async def bill_order(ctx: Context, customer_id: int, order: PlacedOrder) -> Bill:
    """Write the invoice exactly once, in the transaction that completes the task."""
    async with sessions.begin() as session:
        invoice = Invoice(order_id=order.id, customer_id=customer_id, total=order.total)
        session.add(invoice)
        (await session.get_one(Order, order.id)).status = OrderStatus.BILLED
        await session.flush()
        bill = Bill(order_id=order.id, invoice=invoice.number, email=order.email, total=order.total)
        ctx.follow_up(confirm.task(bill=bill))
        await ctx.complete(session, bill)
    await log.ainfo("billed", order=str(order.id), invoice=bill.invoice)
    return bill
