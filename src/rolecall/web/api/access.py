"""Access over HTTP: login, logout, sessions, API keys and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Request, Response
from pydantic import BeforeValidator, Field

from rolecall.model.audit import AuditFilter, StoredAuditEvent, Via
from rolecall.model.operator.access import ApiKey, NewApiKey, OpenSession, Scope
from rolecall.model.operator.pages import Page, page_by_id, position
from rolecall.service.access import DAYS, MOST_DAYS
from rolecall.service.arguments import LONGEST_NAME
from rolecall.web.access.passwords import LONGEST
from rolecall.web.access.sessions import SessionId, end_session_of, sessions_of
from rolecall.web.dependencies import Administers, Enters, KnownCaller, Operates
from rolecall.web.fields.parameters import Body, Cursor, Limit, Moment, PathId, ShortText
from rolecall.web.http.problems import refuses
from rolecall.web.http.requests import forget_session, set_session_cookie
from rolecall.web.routers import api_router
from rolecall.web.state import require_cookies, state_of

login_router = api_router(prefix="/api", tags=["access"])
key_router = api_router(prefix="/api/keys", tags=["access"])
audit_router = api_router(prefix="/api/audit", tags=["audit"])

PRINTABLE = r"^[^\x00-\x1f]*$"


Password = Annotated[str, Field(max_length=LONGEST, json_schema_extra={"format": "password"})]


class Login(Body):
    """A person's credentials."""

    name: str = Field(max_length=LONGEST_NAME, pattern=PRINTABLE)
    password: Password


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """The caller and their scope."""

    name: str
    scope: Scope


@login_router.post("/login", status_code=204, response_model=None)
async def log_in(request: Request, response: Response, shown: Login) -> None:
    """Open a session, stored in a cookie; 429 after ten failures in a row, or too many from one address."""
    require_cookies(request)
    logins = state_of(request).logins
    session = await logins.open(request, shown.name, shown.password)
    set_session_cookie(request, response, session, logins.seconds)


@login_router.post("/logout", status_code=204, response_model=None)
async def log_out(request: Request, response: Response, caller: KnownCaller) -> None:
    """End the session of the request, if it has one."""
    await state_of(request).logins.close(request, caller)
    forget_session(request, response)


class NewPassword(Body):
    """The caller's present password, and the one that replaces it."""

    current: Password
    new: Password


@login_router.post("/password", status_code=204, response_model=None)
async def change_password(request: Request, response: Response, caller: KnownCaller, shown: NewPassword) -> None:
    """Change the caller's own password, end all their sessions, and open a new one, stored in a cookie.

    401 for a wrong current password, 429 after too many of them.
    """
    require_cookies(request)
    logins = state_of(request).logins
    session = await logins.change_password(request, caller, shown.current, shown.new)
    set_session_cookie(request, response, session, logins.seconds)


@login_router.get("/me")
async def show_caller(caller: KnownCaller) -> Me:
    """Return the caller's name and scope."""
    return Me(name=caller.actor.name, scope=caller.scope)


def _require_end(days: object) -> object:
    if days is None:
        raise ValueError(
            f"a key created over HTTP must expire: give 1 to {MOST_DAYS} days. To create one that does not, run "
            "`rolecall keys create NAME --never`"
        )
    return days


class KeyRequest(Body):
    """An API key to create. It expires after `days`."""

    name: str
    scope: Annotated[Scope, Field(strict=False)]
    days: Annotated[int, BeforeValidator(_require_end), Field(ge=1, le=MOST_DAYS)] = DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSessions:
    """All open sessions that the caller can see, on one page."""

    items: list[OpenSession]
    next_cursor: str | None = None


@login_router.get("/sessions")
async def list_sessions(request: Request, services: Enters, caller: KnownCaller) -> OpenSessions:
    """List open sessions, newest first: all of them for an admin, and their own for others."""
    return OpenSessions(items=await sessions_of(request, services, caller))


@login_router.delete("/sessions/{session_id}", status_code=204, response_model=None, responses=refuses(404))
async def end_session(session_id: SessionId, services: Enters, caller: KnownCaller) -> None:
    """End a session of the caller, or any session as an admin."""
    await end_session_of(services, caller, session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeys:
    """All API keys, on one page."""

    items: list[ApiKey]
    next_cursor: str | None = None


@key_router.get("")
async def list_keys(services: Administers) -> ApiKeys:
    """List all API keys, newest first, including those that expired or were revoked recently."""
    return ApiKeys(items=await services.keys.list())


@key_router.post("", status_code=201)
async def create_key(request: KeyRequest, response: Response, services: Administers) -> NewApiKey:
    """Create an API key. Its secret is returned only here."""
    made = await services.keys.create(request.name, request.scope, request.days)
    response.headers["Location"] = f"/api/keys/{made.key.id}"
    return made


@key_router.get("/{key_id:int}", responses=refuses(404))
async def show_key(key_id: PathId, services: Administers) -> ApiKey:
    """Return one API key, without its secret."""
    return await services.keys.get(key_id)


@key_router.delete("/{key_id:int}", status_code=204, response_model=None, responses=refuses(404))
async def revoke_key(key_id: PathId, services: Administers) -> None:
    """Revoke an API key."""
    await services.keys.revoke(key_id)


@audit_router.get("")
async def list_audit(  # sizes: the filters
    services: Operates,
    actor: ShortText | None = None,
    action: ShortText | None = None,
    kind: ShortText | None = None,
    thing: ShortText | None = None,
    via: Via | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[StoredAuditEvent]:
    """List audit entries, newest first. `kind` is the first part of an action, `thing` an id or name."""
    filters = AuditFilter(
        actor=actor,
        action=action,
        kinds=kind and [kind],
        thing=thing,
        via=via,
        since=since,
        until=until,
        before=position(cursor),
        limit=limit + 1,
    )
    return page_by_id(await services.audit.list(filters), limit)
