"""The nightly report: one task per customer, and a step that combines their results."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from sqlalchemy import ColumnElement, and_, func, select

from rolecall import App, Context
from shop.database import sessions
from shop.models import DailyReport, Invoice
from shop.schemas import Sales

reports = App("reports")


@reports.task(role="counting")
async def count_sales(customer_id: int, day: date) -> Sales:
    """Sum up one customer's invoices of a day."""
    query = select(func.count(), func.coalesce(func.sum(Invoice.total), 0)).where(
        Invoice.customer_id == customer_id, _of_day(day)
    )
    async with sessions() as session:
        invoices, revenue = (await session.execute(query)).one()
    return Sales(invoices=invoices, revenue=revenue)


async def put_together(ctx: Context, day: date) -> None:
    """Store the report after the last customer has been counted."""
    counted = {str(child.payload["customer_id"]): child.result for child in await ctx.children(count_sales)}
    report = DailyReport(
        day=day,
        invoices=sum(sales.invoices for sales in counted.values()),
        revenue=sum((sales.revenue for sales in counted.values()), Decimal()),
        by_customer={customer: str(sales.revenue) for customer, sales in counted.items()},
    )
    async with sessions.begin() as session:
        await session.merge(report)
        await ctx.complete(session)


@reports.task(role="reports", gather=put_together, dedupe_key="{day}")
async def report_day(ctx: Context, day: date) -> None:
    """Spawn a task for each customer who was billed on that day; waiting for them uses no slot."""
    async with sessions() as session:
        customers = (await session.scalars(select(Invoice.customer_id).where(_of_day(day)).distinct())).all()
    ctx.spawn(*(count_sales.task(customer_id=customer, day=day) for customer in customers))


@reports.task(role="reports")
async def report_yesterday(ctx: Context) -> None:
    """Create the report of the previous day; a person can also run it manually."""
    ctx.follow_up(report_day.task(day=datetime.now(UTC).date() - timedelta(days=1)))


reports.schedule("nightly report", report_yesterday, cron="15 0 * * *", zone="UTC")


def _of_day(day: date) -> ColumnElement[bool]:
    begins = datetime.combine(day, time(), UTC)
    return and_(Invoice.billed_at >= begins, Invoice.billed_at < begins + timedelta(days=1))
