"""Generators over HTTP: a day's resync of all stores, and a search for new ones."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from rolecall.web import Body, Connections, Connects, RequestRefused, agreed
from storecrawl.actions.new_tasks import BATCHES, Generated, discovery, resync
from storecrawl.api.enqueuing import ANSWERS, Enqueuing, pool_time
from storecrawl.catalog import crawlable_stores
from storecrawl.serving.parameters import Day, PlatformName, Priority, StateCode

router = APIRouter(prefix="/api/tasks/generate", tags=["generation"])

FURTHEST = dt.timedelta(days=366)
MOST_STATES = 60


class ResyncOrder(Body):
    """The number of batches of a day (UTC, by default today)."""

    batches: Annotated[int, Field(ge=1, le=1_440)] = BATCHES
    date: Day | None = None


class DiscoveryOrder(Body):
    """The states to search; by default those that the crawler covers."""

    states: Annotated[tuple[StateCode, ...], Field(max_length=MOST_STATES, strict=False)] = ()
    state_code: StateCode | None = None
    platform: PlatformName = None
    priority: Priority = None

    def requested_states(self) -> tuple[str, ...]:
        """Return the states; `state_code` is another name for one. Raises FilterError."""
        return (
            agreed("states", self.states or None, "state_code", (self.state_code,) if self.state_code else None) or ()
        )


# The orders of requests without a body.
EVERYTHING, EVERYWHERE = ResyncOrder(), DiscoveryOrder()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBatch:
    """The number of stores resynced at a time."""

    scheduled_for: dt.datetime
    stores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resync:
    """A day's plan and its tasks: how many were stored, how many existed, the ids of all."""

    date: dt.date
    batches: list[PlannedBatch]
    stored: int
    standing: int
    task_ids: list[int]


@router.post("/resync", status_code=201, responses={200: {"model": Resync, "description": "All tasks already existed"}})
async def generate_resync(connects: Connects, enqueues: Enqueuing, order: ResyncOrder = EVERYTHING) -> Resync:
    """Enqueue one product_resync for each store that may be crawled, spread evenly over the day, once per day."""
    day = await _day(connects, order.date)
    async with connects() as connection:
        store_ids = await crawlable_stores(connection)
    batches, tasks = resync(store_ids, day, order.batches)
    generated = await enqueues(tasks)
    return Resync(
        date=day,
        batches=[PlannedBatch(scheduled_for=each.scheduled_for, stores=len(each.store_ids)) for each in batches],
        stored=generated.stored,
        standing=generated.standing,
        task_ids=generated.task_ids,
    )


@router.post("/discovery", status_code=201, responses=ANSWERS)
async def generate_discovery(enqueues: Enqueuing, order: DiscoveryOrder = EVERYWHERE) -> Generated:
    """Enqueue the task that searches for stores; an open one for the same platform and states is kept."""
    return await enqueues([discovery(order.requested_states(), order.platform, order.priority)])


async def _day(connects: Connections, day_given: dt.date | None) -> dt.date:
    today = (await pool_time(connects)).date()
    day = day_given or today
    if not today <= day <= today + FURTHEST:
        raise RequestRefused(f"{day} is not within a year from {today}", status=422, kind="invalid-request")
    return day
