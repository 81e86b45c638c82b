"""Workers over HTTP: the roll, and what they are told."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from rolecall.model.insight import RegisteredWorker
from rolecall.model.pages import Page
from rolecall.service.workers import WorkerDetail
from rolecall.web.access import Operates, Reads
from rolecall.web.fields import PathId
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/workers", tags=["workers"])

Everyone = Annotated[bool, Query(alias="all", description="The stopped and the silent ones too.")]


@router.get("")
async def list_workers(services: Reads, *, everyone: Everyone = False) -> Page[RegisteredWorker]:
    """The workers that were heard of within five minutes, the latest first."""
    return Page(items=await services.workers.list(everyone=everyone))


@router.get("/{worker_id:int}", responses=refuses(404))
async def show_worker(worker_id: PathId, services: Reads) -> WorkerDetail:
    """One worker, with the tasks that it runs."""
    return await services.workers.show(worker_id)


@router.post("/{worker_id:int}/drain", responses=refuses(404))
async def drain_worker(worker_id: PathId, services: Operates) -> RegisteredWorker:
    """Let it take no more tasks, finish what it runs, and stay on the roll."""
    return await services.workers.drain(worker_id)


@router.post("/{worker_id:int}/decommission", responses=refuses(404))
async def decommission_worker(worker_id: PathId, services: Operates) -> RegisteredWorker:
    """Let it take no more tasks, finish what it runs, and end its process."""
    return await services.workers.decommission(worker_id)


@router.post("/{worker_id:int}/resume", responses=refuses(404))
async def resume_worker(worker_id: PathId, services: Operates) -> RegisteredWorker:
    """Take back what it was told: it claims again."""
    return await services.workers.resume(worker_id)
