"""Logging in and out over HTTP, and who one is."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from pydantic import Field

from rolecall.model.access import Scope
from rolecall.service.names import LONGEST_NAME
from rolecall.web.access import KnownCaller
from rolecall.web.cookies import forget_all, keep_session, session_secret
from rolecall.web.fields import Body
from rolecall.web.passwords import LONGEST
from rolecall.web.state import state_of

router = APIRouter(prefix="/api", tags=["access"])

PRINTABLE = r"^[^\x00-\x1f]*$"


class Login(Body):
    """What a person shows."""

    name: str = Field(max_length=LONGEST_NAME, pattern=PRINTABLE)
    password: str = Field(max_length=LONGEST, json_schema_extra={"format": "password"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Who asks, and what they may do."""

    name: str
    scope: Scope


@router.post("/login", status_code=204)
async def log_in(request: Request, response: Response, shown: Login) -> None:
    """Open a session, which a cookie keeps; 429 after ten failures in a row, or too many from one address."""
    logins = state_of(request).logins
    session = await logins.open(request, shown.name, shown.password)
    keep_session(request, response, session, logins.seconds)


@router.post("/logout", status_code=204)
async def log_out(request: Request, response: Response, caller: KnownCaller) -> None:
    """End the session that the request shows, if it shows one."""
    secret = session_secret(request)
    if secret is not None:
        await state_of(request).logins.close(request, caller.actor.name, secret)
    forget_all(request, response)


@router.get("/me")
async def show_caller(caller: KnownCaller) -> Me:
    """Say who asks."""
    return Me(name=caller.actor.name, scope=caller.scope)
