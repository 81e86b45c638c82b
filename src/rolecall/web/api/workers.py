"""Workers over HTTP: the registry, commands, and the number of replicas in a cluster."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, StrictInt

from rolecall.model.operator.insight import RegisteredWorker
from rolecall.model.operator.pages import Page
from rolecall.model.operator.scaling import Replicas, Scaled, ScaleTarget
from rolecall.service.workers import WorkerDetail
from rolecall.web.dependencies import Administers, Operates, Reads
from rolecall.web.fields.parameters import PathId
from rolecall.web.http.problems import refuses
from rolecall.web.routers import api_router

router = api_router(prefix="/api/workers", tags=["workers"])
scaling_router = api_router(prefix="/api/workers/k8s", tags=["scaling"])


Everyone = Annotated[bool, Query(alias="all", description="Include stopped, dead and silent workers.")]


@router.get("")
async def list_workers(services: Reads, *, everyone: Everyone = False) -> Page[RegisteredWorker]:
    """List the active workers, latest heartbeat first."""
    return Page(items=await services.workers.list(everyone=everyone))


@router.get("/{worker_id:int}", responses=refuses(404))
async def show_worker(worker_id: PathId, services: Reads) -> WorkerDetail:
    """Return one worker with its running tasks."""
    return await services.workers.show(worker_id)


@router.post("/{worker_id:int}/drain", responses=refuses(404))
async def drain_worker(worker_id: PathId, services: Operates) -> RegisteredWorker:
    """Drain a worker: it claims no more tasks, finishes the running ones, and stays registered."""
    return await services.workers.drain(worker_id)


@router.post("/{worker_id:int}/decommission", responses=refuses(404))
async def decommission_worker(worker_id: PathId, services: Operates) -> RegisteredWorker:
    """Decommission a worker: it claims no more tasks, finishes the running ones, and exits."""
    return await services.workers.decommission(worker_id)


@router.post("/{worker_id:int}/resume", responses=refuses(404))
async def resume_worker(worker_id: PathId, services: Operates) -> RegisteredWorker:
    """Revoke the worker's command, so that it claims tasks again."""
    return await services.workers.resume(worker_id)


class ReplicasRequest(BaseModel):
    """The desired number of worker pods."""

    model_config = ConfigDict(extra="forbid")

    replicas: StrictInt


@scaling_router.get("/replicas")
async def show_replicas(services: Reads) -> Replicas:
    """Return the current and the desired number of worker pods, and the allowed range."""
    return await services.scaling.replicas()


@scaling_router.post("/scale")
async def scale(request: ReplicasRequest, services: Administers) -> Scaled:
    """Set the number of worker pods. Those that stop finish their running tasks and return the rest."""
    return await services.scaling.scale(request.replicas)


@scaling_router.get("/target/{role}")
async def show_target(role: str, services: Reads) -> ScaleTarget:
    """Return how many tasks of a role are ready or running, for an autoscaler to divide by its target."""
    return await services.scaling.target(role)
