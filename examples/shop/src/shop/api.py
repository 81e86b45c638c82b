"""The web application: stores orders together with the tasks that bill them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date
from typing import Annotated, TypedDict
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, status
from sqlalchemy.ext.asyncio import AsyncSession

from rolecall import AsyncClient, running
from shop.database import connect, sessions
from shop.models import DailyReport, Order, OrderLine
from shop.schemas import NewOrder, OrderOut, PlacedOrder, ReportOut
from shop.settings import Settings
from shop.tasks import app
from shop.tasks.orders import bill_order
from shop.tasks.reports import report_day

router = APIRouter()


class State(TypedDict):
    """The application's resources for requests."""

    client: AsyncClient


def make_api(settings: Settings) -> FastAPI:
    """Create the application; it connects when it starts."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[State]:
        connect(settings.database_url)
        async with running(app, settings.database_url, worker=settings.worker_inside) as client:
            yield {"client": client}

    api = FastAPI(title="Shop", lifespan=lifespan)
    api.include_router(router)
    return api


async def transaction() -> AsyncGenerator[AsyncSession]:
    async with sessions.begin() as session:
        yield session


def client_of(request: Request) -> AsyncClient:
    client: AsyncClient = request.state.client
    return client


# Committed before the response is sent, so that no response describes an order that does not exist.
Transaction = Annotated[AsyncSession, Depends(transaction, scope="function")]
Client = Annotated[AsyncClient, Depends(client_of)]


@router.post("/orders", status_code=status.HTTP_201_CREATED)
async def place_order(new: NewOrder, session: Transaction, client: Client) -> OrderOut:
    """Store an order and the task that bills it, both or neither."""
    order = Order(
        customer_id=new.customer_id, email=new.email, lines=[OrderLine(**line.model_dump()) for line in new.lines]
    )
    session.add(order)
    await session.flush()
    await session.refresh(order, ["placed_at"])
    placed = PlacedOrder(id=order.id, email=order.email, total=order.total)
    await client.enqueue(bill_order.using(connection=session), customer_id=order.customer_id, order=placed)
    return OrderOut.model_validate(order)


@router.get("/orders/{order_id}")
async def show_order(order_id: UUID, session: Transaction) -> OrderOut:
    """Show an order."""
    order = await session.get(Order, order_id)
    if order is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    return OrderOut.model_validate(order)


@router.post("/reports/{day}", status_code=status.HTTP_202_ACCEPTED)
async def ask_for_report(day: date, client: Client) -> dict[str, int]:
    """Enqueue a task that creates or replaces a day's report, and return its id."""
    return {"task": (await client.enqueue(report_day, day=day)).id}


@router.get("/reports/{day}")
async def show_report(day: date, session: Transaction) -> ReportOut:
    """Show a day's report."""
    report = await session.get(DailyReport, day)
    if report is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    return ReportOut.model_validate(report)
