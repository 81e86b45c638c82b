"""The nightly report."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

from rolecall import AsyncClient
from rolecall.testing import drain
from shop.database import sessions
from shop.models import DailyReport, Invoice, Order
from shop.tasks import app
from shop.tasks.reports import report_day, report_yesterday

MONDAY = date(2026, 11, 23)


async def bill(customer_id: int, total: str, *, at: datetime) -> None:
    order_id = uuid4()
    async with sessions.begin() as session:
        session.add(Order(id=order_id, customer_id=customer_id, email="ada@example.org"))
        await session.flush()
        session.add(Invoice(order_id=order_id, customer_id=customer_id, total=Decimal(total), billed_at=at))


async def test_a_day_is_put_together_from_what_each_customer_was_billed(client: AsyncClient, database_url: str) -> None:
    noon = datetime(2026, 11, 23, 12, tzinfo=UTC)
    await bill(7, "9.00", at=noon)
    await bill(7, "1.50", at=noon)
    await bill(8, "20.00", at=noon)
    await bill(8, "99.00", at=noon + timedelta(days=1))

    await client.enqueue(report_day, day=MONDAY)
    await drain(app, database_url)

    async with sessions() as session:
        report = await session.get_one(DailyReport, MONDAY)
    assert (report.invoices, report.revenue) == (3, Decimal("30.50"))
    assert report.by_customer == {"7": "10.50", "8": "20.00"}


async def test_a_day_without_invoices_has_an_empty_report(client: AsyncClient, database_url: str) -> None:
    await client.enqueue(report_day, day=MONDAY)
    await drain(app, database_url)

    async with sessions() as session:
        report = await session.get_one(DailyReport, MONDAY)
    assert (report.invoices, report.by_customer) == (0, {})


async def test_the_schedule_has_the_day_before_reported(client: AsyncClient, database_url: str) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    await bill(7, "9.00", at=yesterday)

    await client.enqueue(report_yesterday)
    await drain(app, database_url)

    async with sessions() as session:
        assert (await session.get_one(DailyReport, yesterday.date())).revenue == Decimal("9.00")
