"""Staggered batches over HTTP: one task per store, at a fixed distance in time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from rolecall.web import Connections, Connects
from storecrawl.actions.new_tasks import Generated
from storecrawl.api.enqueuing import ANSWERS, Enqueuing, crawlable_of_state, pool_time
from storecrawl.api.job_queue import SomeStores, StoreJob
from storecrawl.serving.lookup import crawlable
from storecrawl.serving.parameters import STATE

router = APIRouter(prefix="/api/tasks/batch", tags=["batches"])

AN_HOUR = 3_600
Seconds = Annotated[float, Field(ge=0, le=AN_HOUR)]


class Staggered(StoreJob):
    """The seconds between two stores; the first task is due at `scheduled_for`, or now."""

    stagger_seconds: Seconds


class StaggeredStores(SomeStores):
    """These stores in order, this many seconds apart; the first task is due at `scheduled_for`, or now."""

    stagger_seconds: Seconds


@router.post("/staggered", status_code=201, responses=ANSWERS)
async def stagger(batch: StaggeredStores, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Enqueue a task for each of these stores, or none if one of them must not be crawled."""
    store_ids = await crawlable(connects, batch.stores())
    begin = await _begin(batch, connects)
    return await enqueues(await batch.tasks(connects, store_ids, begin, batch.stagger_seconds))


@router.post("/{state}-stores", status_code=201, responses=ANSWERS)
async def stagger_state(
    state: Annotated[str, Path(pattern=STATE)], batch: Staggered, connects: Connects, enqueues: Enqueuing
) -> Generated:
    """Enqueue a task for each store of a state that may be crawled, as in /api/tasks/batch/az-stores."""
    store_ids = await crawlable_of_state(connects, state)
    begin = await _begin(batch, connects)
    return await enqueues(await batch.tasks(connects, store_ids, begin, batch.stagger_seconds))


async def _begin(batch: StoreJob, connects: Connections) -> datetime:
    return batch.scheduled_for or await pool_time(connects)
