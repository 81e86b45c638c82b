"""Ending a task over HTTP with the secret that was handed out for it: whoever has the token needs no other key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from rolecall.model.access import Caller, Scope
from rolecall.model.audit import Actor
from rolecall.service.services import Services
from rolecall.web.api.task_actions import Failure
from rolecall.web.parameters import Result
from rolecall.web.problems import refuses
from rolecall.web.state import address_of, state_of
from rolecall.web.views import Outcome

router = APIRouter(prefix="/api/tokens", tags=["tokens"])

Token = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra={"format": "password"})]


class TokenCompletion(Result):
    """The token, and what its task leaves behind."""

    token: Token


class TokenFailure(Failure):
    """The token, and why its task fails."""

    token: Token


@router.post("/complete", responses=refuses(404))
async def complete_by_token(request: Request, shown: TokenCompletion) -> Outcome:
    """Complete the task that the token stands for; 404 for one that is unknown, used or expired."""
    task_id = await _services(request).tasks.complete_by_token(shown.token, shown.result)
    return Outcome(id=task_id, outcome="completed")


@router.post("/fail", responses=refuses(404))
async def fail_by_token(request: Request, shown: TokenFailure) -> Outcome:
    """Fail the task that the token stands for, for good; 404 for one that is unknown, used or expired."""
    return Outcome(id=await _services(request).tasks.fail_by_token(shown.token, shown.error), outcome="failed")


def _services(request: Request) -> Services:
    bearer = Actor(name="bearer of a token", via="api", origin=address_of(request))
    return state_of(request).services(Caller(actor=bearer, scope=Scope.READ))
