"""The number of workers in a cluster, over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, StrictInt

from rolecall.model.scaling import Replicas, Scaled, ScaleTarget
from rolecall.web.access import Administers, Reads

router = APIRouter(prefix="/api/workers/k8s", tags=["scaling"])


class Wanted(BaseModel):
    """How many pods of workers there are to be."""

    model_config = ConfigDict(extra="forbid")

    replicas: StrictInt


@router.get("/replicas")
async def show_replicas(services: Reads) -> Replicas:
    """How many pods of workers there are, how many are wanted, and between which numbers that may be changed."""
    return await services.scaling.replicas()


@router.post("/scale")
async def scale(wanted: Wanted, services: Administers) -> Scaled:
    """Let the cluster keep so many pods of workers; those that go finish what they run and give back the rest."""
    return await services.scaling.scale(wanted.replicas)


@router.get("/target/{role}")
async def show_target(role: str, services: Reads) -> ScaleTarget:
    """How many tasks of a role are due and free to run, or running: what an autoscaler divides by its target."""
    return await services.scaling.target(role)
