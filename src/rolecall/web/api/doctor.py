"""The pool's health over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.model.doctor import Diagnosis
from rolecall.web.access import Operates

router = APIRouter(prefix="/api/doctor", tags=["health"])


@router.get("")
async def examine(services: Operates) -> Diagnosis:
    """Everything that is wrong with the server and the workers, the worst first; it takes a moment."""
    return await services.doctor.examine()
