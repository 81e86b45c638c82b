"""The job queue over HTTP: one task of any role, or a task for each of several stores, or of all of a state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fastapi import APIRouter

from rolecall import NewTask
from rolecall.web import Body, Connections, Connects, Id, RequestRefused, agreed
from storecrawl.actions.new_tasks import (
    POOL_TASKS,
    Generated,
    PoolRole,
    StoreRole,
    as_manual_requests,
    discovery,
    stagger_tasks,
    tasks_for_stores,
)
from storecrawl.api.enqueuing import ANSWERS, Enqueuing, crawlable_of_state
from storecrawl.serving.lookup import crawlable
from storecrawl.serving.parameters import PlatformName, Priority, Start, StateCode, StoreIds, one_of
from storecrawl.serving.refusals import catalog_errors_as_problems

router = APIRouter(prefix="/api/job-queue", tags=["job queue"])


class Job(Body):
    """The earliest time and the priority; by default now."""

    platform: PlatformName = None
    priority: Priority = None
    scheduled_for: Start | None = None

    def requested_tasks(
        self, new_tasks: Sequence[NewTask], begin: datetime | None = None, stagger: float = 0.0
    ) -> list[NewTask]:
        """Return the requested tasks, `stagger` seconds apart from `begin` on."""
        tasks = as_manual_requests(stagger_tasks(new_tasks, begin or self.scheduled_for, stagger))
        return tasks if self.priority is None else [task.options(priority=self.priority) for task in tasks]


class StoreJob(Job):
    """The role whose tasks are created for stores; by default a fetch."""

    role: StoreRole = "payload_fetch"

    async def tasks(
        self, connects: Connections, store_ids: Sequence[int], begin: datetime | None = None, stagger: float = 0.0
    ) -> list[NewTask]:
        """Return a task per store, staggered from `begin` on; without it, all at `scheduled_for`, or now."""
        return self.requested_tasks(await tasks_of_stores(connects, self.role, store_ids), begin, stagger)


class AnyJob(Job):
    """A task of any role: about one store, or of a role about all of them. States are for a discovery."""

    role: StoreRole | PoolRole = "payload_fetch"
    store_id: Id | None = None
    dispensary_id: Id | None = None
    state: StateCode | None = None
    state_code: StateCode | None = None


class SomeStores(StoreJob):
    """Tasks of these stores."""

    store_ids: StoreIds | None = None
    dispensary_ids: StoreIds | None = None

    def stores(self) -> list[int]:
        """Return the stores by either name. Raises RequestRefused, FilterError."""
        return one_of("store_ids", self.store_ids, "dispensary_ids", self.dispensary_ids)


class StoresOfState(StoreJob):
    """Tasks of all stores of a state that may be crawled."""

    state: StateCode | None = None
    state_code: StateCode | None = None


@router.post("/enqueue", status_code=201, responses=ANSWERS)
async def enqueue(job: AnyJob, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Enqueue one task; a pending one gets this time and priority."""
    return await enqueues(job.requested_tasks(await _new_tasks(job, connects)))


@router.post("/enqueue-batch", status_code=201, responses=ANSWERS)
async def enqueue_batch(job: SomeStores, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Enqueue a task for each of these stores, or none if one of them must not be crawled."""
    return await enqueues(await job.tasks(connects, await crawlable(connects, job.stores())))


@router.post("/enqueue-state", status_code=201, responses=ANSWERS)
async def enqueue_state(job: StoresOfState, connects: Connects, enqueues: Enqueuing) -> Generated:
    """Enqueue a task for each store of a state that may be crawled."""
    state = one_of("state", job.state, "state_code", job.state_code)
    return await enqueues(await job.tasks(connects, await crawlable_of_state(connects, state)))


async def tasks_of_stores(connects: Connections, role: StoreRole, store_ids: Sequence[int]) -> list[NewTask]:
    """Return a task per store. Raises RequestRefused for a store without what the role needs."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            return await tasks_for_stores(connection, role, store_ids)


async def _new_tasks(job: AnyJob, connects: Connections) -> list[NewTask]:
    store_id = agreed("store_id", job.store_id, "dispensary_id", job.dispensary_id)
    state = agreed("state", job.state, "state_code", job.state_code)
    if state is not None and job.role != "store_discovery":
        raise _invalid_combination(f"a state is only valid for store_discovery or /enqueue-state, not for {job.role}")
    match job.role:
        case "store_discovery" | "analytics_refresh" | "storage_upkeep" if store_id is not None:
            raise _invalid_combination(f"{job.role} does not take a store")
        case "store_discovery":
            return [discovery([state] if state else (), job.platform)]
        case "analytics_refresh" | "storage_upkeep":
            return [POOL_TASKS[job.role]]
        case role:
            stores = [one_of("store_id", store_id, "dispensary_id", None)]
            # It exists for stores that cannot be crawled.
            allowed = stores if role == "entry_point_discovery" else await crawlable(connects, stores)
            return await tasks_of_stores(connects, role, allowed)


def _invalid_combination(problem: str) -> RequestRefused:
    return RequestRefused(problem, status=422, kind="invalid-request")
