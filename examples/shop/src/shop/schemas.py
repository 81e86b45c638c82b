"""What comes in and goes out: over HTTP, and as payloads of tasks."""

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
    """What a customer sends."""

    customer_id: int
    email: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    lines: list[NewLine] = Field(min_length=1)


class OrderOut(BaseModel):
    """An order, as the shop shows it."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    customer_id: int
    status: OrderStatus
    total: Decimal
    placed_at: datetime


class ReportOut(BaseModel):
    """A day's report, as the shop shows it."""

    model_config = ConfigDict(from_attributes=True)

    day: date
    invoices: int
    revenue: Decimal
    by_customer: dict[str, Decimal]


class PlacedOrder(BaseModel):
    """What billing is sent."""

    id: UUID
    email: str
    total: Decimal


class Bill(BaseModel):
    """What became of an order at billing, and what its customer is told."""

    order_id: UUID
    invoice: int
    email: str
    total: Decimal


class Sales(BaseModel):
    """What one customer has been billed on one day."""

    invoices: int
    revenue: Decimal
