"""Routes with which people manage their own tasks, by title. Off unless an app mounts them:

    app.mount("rolecall.web.own_tasks:router")  # the base URL is http://HOST:8321/api/own

    POST /login                returns a token for a name and a password, to be sent as `Authorization: Bearer ...`
    POST, GET, DELETE /tasks   the caller's own tasks; the priority is low or high
    /users  /api-keys          the people who can log in; the caller's API keys
    GET /status                whether the database and Redis respond; public, for probes

A task's handler is the one named by the payload's `type` or by the title, or the handler `default`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from rolecall.app import App
from rolecall.client.requests import new_task
from rolecall.model.dedupe import Dedupe
from rolecall.model.errors import DatabaseUnavailable, HandlerMissing, NotAllowed
from rolecall.model.operator.access import ApiKey, Caller, NewApiKey, Person, Scope
from rolecall.model.operator.owned import OwnedFilter, OwnedTask
from rolecall.model.tasks import NewTask, TaskOptions
from rolecall.service.access import DAYS, MOST_DAYS
from rolecall.service.arguments import LONGEST_NAME
from rolecall.sql.encoding import encode
from rolecall.transport.brokers import RedisAway
from rolecall.web.access.passwords import LONGEST, hash_password
from rolecall.web.api.access import PRINTABLE
from rolecall.web.api.health import require_ready
from rolecall.web.dependencies import Administers, Anybody, Enters, KnownCaller, Owns
from rolecall.web.fields.parameters import Body, PathId, SearchText, ShortText
from rolecall.web.http.problems import refuses
from rolecall.web.idempotency import OwnsOnce
from rolecall.web.state import state_of

PREFIX = "/api/own"
FALLBACK = "default"
HIGH = 1
YEAR_MINUTES = 525_600
LONGEST_PAGE = 100
FURTHEST = 10_000

router = APIRouter(prefix=PREFIX, tags=["own tasks"])


class Status(StrEnum):
    """The status of a task in these routes. RETRYING can be used as a filter, but is never returned."""

    PENDING = "PENDING"
    QUEUED = "QUEUED"
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    RETRYING = "RETRYING"


# By Rolecall's own status.
STATUSES: Mapping[str, Status] = {
    "blocked": Status.PENDING,
    "scheduled": Status.PENDING,
    "ready": Status.PENDING,
    "parked": Status.PENDING,
    "retrying": Status.PENDING,
    "claimed": Status.QUEUED,
    "running": Status.IN_PROGRESS,
    "stale": Status.IN_PROGRESS,
    "waiting": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
    "failed": Status.FAILED,
    "cancelled": Status.FAILED,
}


def status_of(task: OwnedTask) -> Status:
    """Return the status of a task in these routes."""
    return STATUSES[task.status]


class TaskRequest(Body):
    """A task to create. `scheduled_at` is in minutes from now."""

    title: ShortText
    payload: dict[str, Any] = Field(default_factory=dict)
    priority: Literal["low", "high"] = "low"
    scheduled_at: Annotated[float, Field(ge=0, le=YEAR_MINUTES)] = 0


class ShownTask(BaseModel):
    """A task of the caller."""

    id: int
    title: str
    payload: dict[str, Any]
    priority: Literal["low", "high"]
    status: Status
    owner_id: str
    worker_id: int | None
    retry_count: int
    created_at: datetime
    scheduled_at: datetime
    updated_at: datetime


@router.post("/tasks", status_code=201, responses=refuses(409))
async def create_task(
    task: TaskRequest, services: OwnsOnce, caller: KnownCaller, request: Request, response: Response
) -> ShownTask:
    """Enqueue a task; 409 if the caller has an open task with the same title and payload."""
    entry = _entry(task, caller.owner, state_of(request).app)
    made = await services.owned_tasks.enqueue(entry, caller.owner, task.title)
    response.headers["Location"] = f"{PREFIX}/tasks/{made.id}"
    return _view_of(made)


@router.get("/tasks")
async def list_tasks(  # sizes: the query parameters
    services: Enters,
    caller: KnownCaller,
    search: SearchText | None = None,
    status: Status | None = None,
    skip: Annotated[int, Query(ge=0, le=FURTHEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=LONGEST_PAGE)] = 10,
) -> list[ShownTask]:
    """List the caller's tasks, newest first. `search` looks in their titles."""
    statuses = None if status is None else [ours for ours, theirs in STATUSES.items() if theirs is status]
    which = OwnedFilter(owner=caller.owner, text=search or None, statuses=statuses, skip=skip, limit=limit)
    return list(map(_view_of, await services.owned_tasks.list(which)))


@router.get("/tasks/{task_id:int}")
async def show_task(task_id: PathId, services: Enters, caller: KnownCaller) -> ShownTask:
    """Return a task of the caller; 401 for a task of another owner."""
    return _view_of(await services.owned_tasks.get(task_id, caller.owner))


@router.delete("/tasks/{task_id:int}", status_code=204, response_model=None, responses=refuses(409))
async def delete_task(task_id: PathId, services: Owns, caller: KnownCaller) -> None:
    """Delete a task of the caller, including everything below it; 401 for a task of another owner."""
    await services.owned_tasks.delete(task_id, caller.owner)


def _entry(task: TaskRequest, owner: str, app: App) -> NewTask:
    handler = _handler(task, app)
    same = hashlib.sha256(encode([owner, task.title, task.payload]).encode()).hexdigest()
    options = TaskOptions(
        priority=HIGH if task.priority == "high" else 0,
        after=task.scheduled_at * 60 or None,
        dedupe_key=f"own:{same}",
        dedupe=Dedupe(mode="error", scope="open"),
    )
    return new_task(handler, task.payload, options, app)


def _handler(task: TaskRequest, app: App) -> str:
    """Return the handler's name. Raises HandlerMissing, so that no task is stored that can only fail."""
    for name in (task.payload.get("type"), task.title, FALLBACK):
        if isinstance(name, str) and name in app.handlers:
            return name
    raise HandlerMissing(handler=task.title, hint=f", and neither the payload's type nor {FALLBACK!r} is a handler")


def _view_of(task: OwnedTask) -> ShownTask:
    return ShownTask(
        id=task.id,
        title=task.title,
        payload=task.payload,
        priority="high" if task.priority > 0 else "low",
        status=status_of(task),
        owner_id=task.owner,
        worker_id=task.worker_id,
        retry_count=max(0, task.attempt - 1),
        created_at=task.created_at,
        scheduled_at=task.scheduled_for,
        updated_at=task.updated_at,
    )


class Login(Body):
    """A person's credentials. The name can be an email address."""

    username: str = Field(max_length=LONGEST_NAME, pattern=PRINTABLE)
    password: str = Field(max_length=LONGEST, json_schema_extra={"format": "password"})


class LoginToken(BaseModel):
    """A session's secret, of which only the digest is stored. It expires, and ends with a logout or a new password."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - a word, not a secret
    expires_at: datetime


@router.post("/login")
async def log_in(request: Request, shown: Login, _: Anybody) -> LoginToken:
    """Open a session; 429 after too many failures in a row, or from one address."""
    session = await state_of(request).logins.open(request, shown.username, shown.password)
    return LoginToken(access_token=session.secret, expires_at=session.expires_at)


class UserRequest(Login):
    """A person to add. By default, they can use only these routes."""

    scope: Annotated[Scope, Field(strict=False)] = Scope.OWN


@router.post("/users", status_code=201, responses=refuses(409))
async def add_user(user: UserRequest, services: Administers) -> Person:
    """Add a person who can log in, by default with the scope `own`. Requires the scope `admin`."""
    password_hash = await asyncio.to_thread(hash_password, user.password)
    return await services.people.add(user.username, user.scope, password_hash)


@router.get("/users")
async def list_users(services: Administers) -> list[Person]:
    """List the people who can log in."""
    return await services.people.list()


class KeyRequest(Body):
    """An API key to create for the caller, with the caller's scope or a lower one."""

    name: str
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = DAYS
    scope: Annotated[Scope | None, Field(strict=False)] = None


class ShownKey(BaseModel):
    """An API key of the caller, without its secret."""

    id: int
    name: str
    scope: Scope
    prefix: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    is_active: bool


class MadeKey(ShownKey):
    """A new API key with its secret, which is shown only once."""

    api_key: str


@router.post("/api-keys", status_code=201)
async def create_key(request: KeyRequest, services: Enters, caller: KnownCaller) -> MadeKey:
    """Create an API key for the caller. Requires a login, so that no key can renew itself."""
    if caller.person_id is None or caller.key_id is not None:
        raise NotAllowed("only a person who has logged in can create an API key, not another key")
    scope = request.scope or caller.scope
    if not caller.scope.includes(scope):
        raise NotAllowed(f"a key cannot have more rights than its creator, whose scope is {caller.scope.value!r}")
    made: NewApiKey = await services.keys.create(request.name, scope, request.days, person_id=caller.person_id)
    return MadeKey(**_key(made.key), api_key=made.secret)


@router.get("/api-keys")
async def list_keys(services: Enters, caller: KnownCaller) -> list[ShownKey]:
    """List the caller's API keys, newest first, including those that expired or were revoked recently."""
    return [ShownKey(**_key(key)) for key in await services.keys.list() if _is_own(key, caller)]


@router.delete("/api-keys/{key_id:int}", status_code=204, response_model=None)
async def revoke_key(key_id: PathId, services: Enters, caller: KnownCaller) -> None:
    """Revoke an API key; 403 for a key of another owner."""
    if not _is_own(await services.keys.get(key_id), caller):
        raise NotAllowed(f"API key {key_id} belongs to another person")
    await services.keys.revoke(key_id)


def _is_own(key: ApiKey, caller: Caller) -> bool:
    return key.person_id is not None and key.person_id == caller.person_id


def _key(key: ApiKey) -> dict[str, Any]:
    return {**asdict(key), "is_active": key.revoked_at is None}


class ServerStatus(BaseModel):
    """The response of a working server. `redis` is null if none is configured."""

    status: Literal["ok"] = "ok"
    database: Literal["ok"] = "ok"
    redis: Literal["ok"] | None = None


@router.get("/status")
async def show_status(request: Request, _: Anybody) -> ServerStatus:
    """Check that the database responds, and Redis if one is configured; 503 with the reason otherwise."""
    state = state_of(request)
    await require_ready(state)
    if state.redis is None:
        return ServerStatus()
    try:
        await state.redis.call("PING")
    except RedisAway:
        raise DatabaseUnavailable("Redis does not respond") from None
    return ServerStatus(redis="ok")
