"""Data of the HTTP API, and payloads and results of tasks."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from shop.models import OrderStatus

Cents = Annotated[Decimal, Field(ge=0, decimal_places=2)]


class NewLine(BaseModel):
    """One article of a new order."""

    article: str = Field(min_length=1)
    quantity: int = Field(gt=0)
    price: Cents


class NewOrder(BaseModel):
    """A new order, as a customer sends it."""

    customer_id: int
    email: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    lines: list[NewLine] = Field(min_length=1)


class OrderOut(BaseModel):
    """An order, as the API returns it."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    customer_id: int
    status: OrderStatus
    total: Decimal
    placed_at: datetime


class ReportOut(BaseModel):
    """A day's report, as the API returns it."""

    model_config = ConfigDict(from_attributes=True)

    day: date
    invoices: int
    revenue: Decimal
    by_customer: dict[str, Decimal]


class PlacedOrder(BaseModel):
    """The payload for billing an order."""

    id: UUID
    email: str
    total: Decimal


class Bill(BaseModel):
    """The result of billing an order, and the payload of the mail to its customer."""

    order_id: UUID
    invoice: int
    email: str
    total: Decimal


class Sales(BaseModel):
    """The invoices of one customer on one day."""

    invoices: int
    revenue: Decimal
