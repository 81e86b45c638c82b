"""The tables; `migrations` creates them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar
from uuid import UUID, uuid4

from sqlalchemy import DateTime, ForeignKey, Identity, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class OrderStatus(StrEnum):
    """The progress of an order."""

    PLACED = "placed"
    BILLED = "billed"
    CONFIRMED = "confirmed"


class Base(DeclarativeBase):
    """The base class of all tables."""

    type_annotation_map: ClassVar = {datetime: DateTime(timezone=True)}


class Order(Base):
    """A customer's order."""

    __tablename__ = "orders"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    customer_id: Mapped[int]
    email: Mapped[str]
    status: Mapped[str] = mapped_column(default=OrderStatus.PLACED)
    placed_at: Mapped[datetime] = mapped_column(server_default=func.now())
    lines: Mapped[list[OrderLine]] = relationship(lazy="selectin")

    @property
    def total(self) -> Decimal:
        """The total price."""
        return sum((line.price * line.quantity for line in self.lines), Decimal())


class OrderLine(Base):
    """One article of an order."""

    __tablename__ = "order_lines"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    order_id: Mapped[UUID] = mapped_column(ForeignKey("orders.id"))
    article: Mapped[str]
    quantity: Mapped[int]
    price: Mapped[Decimal]


class Invoice(Base):
    """The amount that a customer owes for an order; one per order."""

    __tablename__ = "invoices"

    number: Mapped[int] = mapped_column(Identity(), primary_key=True)
    order_id: Mapped[UUID] = mapped_column(ForeignKey("orders.id"), unique=True)
    customer_id: Mapped[int]
    total: Mapped[Decimal]
    billed_at: Mapped[datetime] = mapped_column(server_default=func.now())


class DailyReport(Base):
    """The sales of a day."""

    __tablename__ = "daily_reports"

    day: Mapped[date] = mapped_column(primary_key=True)
    invoices: Mapped[int]
    revenue: Mapped[Decimal]
    by_customer: Mapped[dict[str, str]] = mapped_column(JSONB)
