"""The tasks after an order, run by a real worker."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import select

from rolecall import AsyncClient, TaskState
from rolecall.testing import drain
from shop import mail
from shop.database import sessions
from shop.models import Invoice, Order, OrderLine, OrderStatus
from shop.schemas import PlacedOrder
from shop.tasks import app
from shop.tasks.orders import bill_order


async def place(client: AsyncClient, customer_id: int) -> tuple[UUID, int]:
    """Store an order as the API does; return its id and that of its task."""
    async with sessions.begin() as session:
        line = OrderLine(article="tea", quantity=2, price=Decimal("4.50"))
        order = Order(customer_id=customer_id, email="ada@example.org", lines=[line])
        session.add(order)
        await session.flush()
        placed = PlacedOrder(id=order.id, email=order.email, total=order.total)
        task = await client.enqueue(bill_order.using(connection=session), customer_id=customer_id, order=placed)
    return order.id, task.id


async def test_an_order_is_billed_and_its_customer_told(client: AsyncClient, database_url: str) -> None:
    order_id, task_id = await place(client, customer_id=7)

    await drain(app, database_url)

    bill = (await client.get(task_id)).result
    async with sessions() as session:
        assert (await session.get_one(Order, order_id)).status == OrderStatus.CONFIRMED
        invoice = (await session.scalars(select(Invoice))).one()
    assert bill == {"order_id": str(order_id), "invoice": invoice.number, "email": "ada@example.org", "total": "9.00"}


async def test_a_mail_server_that_is_away_for_a_moment_costs_no_second_invoice(
    client: AsyncClient, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    async def send(to: str, subject: str, text: str) -> None:
        tried.append(subject)
        if len(tried) == 1:
            raise mail.MailServerAway

    monkeypatch.setattr(mail, "send", send)
    order_id, _ = await place(client, customer_id=7)

    await drain(app, database_url)

    async with sessions() as session:
        assert (await session.get_one(Order, order_id)).status == OrderStatus.CONFIRMED
        invoice = (await session.scalars(select(Invoice))).one()
    assert tried == [f"Invoice {invoice.number}"] * 2


async def test_an_order_that_is_billed_already_is_not_billed_again(client: AsyncClient, database_url: str) -> None:
    order_id, task_id = await place(client, customer_id=7)
    async with sessions.begin() as session:
        session.add(Invoice(order_id=order_id, customer_id=7, total=Decimal(9)))
    placed = PlacedOrder(id=order_id, email="ada@example.org", total=Decimal(9))
    again = await client.enqueue(bill_order.using(max_attempts=1), customer_id=7, order=placed)
    await client.cancel(task_id)

    await drain(app, database_url)

    assert (await client.get(again)).state is TaskState.FAILED
    async with sessions() as session:
        assert len((await session.scalars(select(Invoice))).all()) == 1
