"""Staggered batches over HTTP: a task for each of many stores, one some time after the other."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from rolecall.web import Connections, Connects
from storecrawl.actions.new_tasks import Generated
from storecrawl.api.enqueuing import ANSWERS, Enqueuing, crawlable_of_state, pool_time
from storecrawl.api.job_queue import StoreJob
from storecrawl.serving.lookup import crawlable
from storecrawl.serving.parameters import STATE, StoreIds

router = APIRouter(prefix="/api/tasks/batch", tags=["batches"])

AN_HOUR = 3_600


class Staggered(StoreJob):
    """How many seconds lie between two stores; the first one's is `scheduled_for`, or now."""

    stagger_seconds: Annotated[float, Field(ge=0, le=AN_HOUR)]


class StaggeredStores(Staggered):
    """For these stores, in this order."""

    store_ids: StoreIds


@router.post("/staggered", status_code=201, responses=ANSWERS)
async def stagger(batch: StaggeredStores, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Store a task for each of these stores, or for none if one of them may not be crawled."""
    store_ids = await crawlable(connects, batch.store_ids)
    return await enqueues(batch.tasks(store_ids, await _begin(batch, connects), batch.stagger_seconds))


@router.post("/{state}-stores", status_code=201, responses=ANSWERS)
async def stagger_state(
    state: Annotated[str, Path(pattern=STATE)], batch: Staggered, connects: Connects, enqueues: Enqueuing
) -> Generated:
    """Store a task for each store of a state that may be crawled, such as /api/tasks/batch/az-stores."""
    store_ids = await crawlable_of_state(connects, state)
    return await enqueues(batch.tasks(store_ids, await _begin(batch, connects), batch.stagger_seconds))


async def _begin(batch: Staggered, connects: Connections) -> datetime:
    return batch.scheduled_for or await pool_time(connects)
