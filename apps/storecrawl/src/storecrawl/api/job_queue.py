"""The job queue over HTTP: have stores crawled, one, some, or all of a state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fastapi import APIRouter

from rolecall import NewTask
from rolecall.web import Body, Connects, Id
from storecrawl.actions.new_tasks import Generated, StoreRole, as_asked, for_stores
from storecrawl.api.enqueuing import ANSWERS, Enqueuing, crawlable_of_state
from storecrawl.serving.lookup import crawlable
from storecrawl.serving.parameters import Priority, Start, StateCode, StoreIds

router = APIRouter(prefix="/api/job-queue", tags=["job queue"])


class StoreJob(Body):
    """Which role's task, at the soonest when, and how urgent; by default a fetch, now."""

    role: StoreRole = "payload_fetch"
    priority: Priority = None
    scheduled_for: Start | None = None

    def tasks(
        self, store_ids: Sequence[int], begin: datetime | None = None, stagger_seconds: float = 0.0
    ) -> list[NewTask]:
        """The task of each store, from a moment on; without one, all at the moment that was given, or now."""
        made = for_stores(self.role, store_ids, begin=begin or self.scheduled_for, stagger_seconds=stagger_seconds)
        tasks = as_asked(made)
        return tasks if self.priority is None else [task.options(priority=self.priority) for task in tasks]


class OneStore(StoreJob):
    """For one store."""

    store_id: Id


class SomeStores(StoreJob):
    """For several stores."""

    store_ids: StoreIds


class StoresOfState(StoreJob):
    """For all stores of a state that may be crawled."""

    state: StateCode


@router.post("/enqueue", status_code=201, responses=ANSWERS)
async def enqueue(job: OneStore, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Store the task of one store; one that waits already is given this moment and priority."""
    return await enqueues(job.tasks(await crawlable(connects, [job.store_id])))


@router.post("/enqueue-batch", status_code=201, responses=ANSWERS)
async def enqueue_batch(job: SomeStores, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Store a task for each of these stores, or for none if one of them may not be crawled."""
    return await enqueues(job.tasks(await crawlable(connects, job.store_ids)))


@router.post("/enqueue-state", status_code=201, responses=ANSWERS)
async def enqueue_state(job: StoresOfState, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Store a task for each store of a state that may be crawled."""
    return await enqueues(job.tasks(await crawlable_of_state(connects, job.state)))
