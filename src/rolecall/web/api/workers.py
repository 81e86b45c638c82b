"""Workers over HTTP: the roll, what they are told, and how many a cluster keeps."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, StrictInt

from rolecall.model.insight import RegisteredWorker
from rolecall.model.pages import Page
from rolecall.model.scaling import Replicas, Scaled, ScaleTarget
from rolecall.service.workers import WorkerDetail
from rolecall.web.dependencies import Administers, Operates, Reads
from rolecall.web.parameters import PathId
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/workers", tags=["workers"])
scaling_router = APIRouter(prefix="/api/workers/k8s", tags=["scaling"])


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


class ReplicasRequest(BaseModel):
    """How many pods of workers there are to be."""

    model_config = ConfigDict(extra="forbid")

    replicas: StrictInt


@scaling_router.get("/replicas")
async def show_replicas(services: Reads) -> Replicas:
    """How many pods of workers there are, how many are wanted, and between which numbers that may be changed."""
    return await services.scaling.replicas()


@scaling_router.post("/scale")
async def scale(request: ReplicasRequest, services: Administers) -> Scaled:
    """Let the cluster keep so many pods of workers; those that go finish what they run and give back the rest."""
    return await services.scaling.scale(request.replicas)


@scaling_router.get("/target/{role}")
async def show_target(role: str, services: Reads) -> ScaleTarget:
    """How many tasks of a role are due and free to run, or running: what an autoscaler divides by its target."""
    return await services.scaling.target(role)
