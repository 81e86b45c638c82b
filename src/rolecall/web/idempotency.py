"""Requests that are carried out only once, however often they are sent: those with a request key.

    request  ──► Once: buffers the response ──► OperatesOnce: takes the key ──► route ──► the same transaction
    response ◄── commits, then sends it     ◄── stores the response           ◄──────────────────┘

Rejected requests are rolled back and not stored, so that they can be sent again with the same key.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from http import HTTPStatus
from types import TracebackType
from typing import Annotated, Any, Self
from urllib.parse import parse_qs

import psycopg
from fastapi import Depends, FastAPI, Header, Query, Request, Response
from psycopg_pool import AsyncConnectionPool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.db.run import run_async, translating_errors
from rolecall.model.errors import RequestUnderWay, RolecallError
from rolecall.model.operator.access import Caller, RequestKey, StoredResponse
from rolecall.service.database import InTransaction
from rolecall.service.services import Services
from rolecall.sql import access
from rolecall.telemetry import UntilCommit
from rolecall.web.dependencies import KnownCaller, Operates, Owns, Requires
from rolecall.web.http.problems import problem_of
from rolecall.web.state import state_of

HEADER = b"idempotency-key"
# Forms cannot set a header, so their URL contains the key.
FORM_KEY = b"request_key"
FORM_TRIES, FORM_PAUSE = 100, 0.1

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A request sent again with its key within a day gets the same response and is not repeated.",
    ),
]


FormKey = Annotated[str | None, Query(min_length=1, max_length=200)]
OperatesByForm = Annotated[Services, Depends(Requires(access.Scope.OPERATE, via="dashboard"))]


class AlreadyAnswered(Exception):
    """Raised for a request that was carried out before. Carries the stored response."""

    def __init__(self, answer: StoredResponse) -> None:
        super().__init__()
        self.answer = answer


class RejectedRequest(Exception):
    """Rolls back a rejected request."""


@dataclass(slots=True)
class Attempt:
    """The transaction of one request, which starts with taking the key and ends with storing the response."""

    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _connection: psycopg.AsyncConnection[Any] | None = None
    _request: RequestKey | None = None
    _events: UntilCommit | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)
        if error is None and self._events is not None:
            self._events.release()

    async def begin(
        self, pool: AsyncConnectionPool[Any], request: RequestKey, events: UntilCommit
    ) -> psycopg.AsyncConnection[Any]:
        """Take the key. Raises AlreadyAnswered, RequestUnderWay, RequestKeyReused."""
        async with AsyncExitStack() as stack:
            connection: psycopg.AsyncConnection[Any] = await stack.enter_async_context(pool.connection())
            await stack.enter_async_context(connection.transaction())
            stored = await run_async(connection, access.take_request(request))
            if stored is not None:
                raise AlreadyAnswered(stored)
            self._stack = stack.pop_all()
        self._connection, self._request, self._events = connection, request, events
        return connection

    async def store_answer(self, answer: StoredResponse) -> None:
        """Store the response if a key was taken. Raises RejectedRequest for an error response."""
        if self._connection is None or self._request is None:
            return
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise RejectedRequest
        await run_async(self._connection, access.keep_answer(self._request, answer))


@dataclass(slots=True)
class BufferedAnswer:
    """A response that is held back until its transaction has committed."""

    _messages: list[Message] = field(default_factory=list)

    async def add(self, message: Message) -> None:
        self._messages.append(message)

    async def release(self, send: Send) -> None:
        for message in self._messages:
            await send(message)

    def content(self) -> StoredResponse:
        start, *parts = self._messages
        headers = dict(start["headers"])
        location = headers.get(b"location")
        body = b"".join(part.get("body", b"") for part in parts)
        return StoredResponse(status=start["status"], location=location and location.decode(), body=body.decode())


class OnceMiddleware:
    """Middleware that runs each request with a key in one transaction and commits before it responds."""

    def __init__(self, app: ASGIApp) -> None:
        self._application = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Only POST is not idempotent already. Streams, which use GET, must not be buffered.
        if scope["type"] != "http" or scope["method"] != "POST" or not _has_key(scope):
            await self._application(scope, receive, send)
            return
        answer = BufferedAnswer()
        try:
            await self._carry_out(scope, receive, answer)
        except RolecallError as error:
            await problem_of(error)(scope, receive, send)
            return
        await answer.release(send)

    async def _carry_out(self, scope: Scope, receive: Receive, answer: BufferedAnswer) -> None:
        attempt = scope.setdefault("state", {})["attempt"] = Attempt()
        try:
            with translating_errors():
                async with attempt:
                    await self._application(scope, receive, answer.add)
                    await attempt.store_answer(answer.content())
        except RejectedRequest:
            pass


def _has_key(scope: Scope) -> bool:
    return HEADER in dict(scope["headers"]) or FORM_KEY in parse_qs(scope["query_string"])


async def _operate_once(request: Request, services: Operates, caller: KnownCaller, key: Key = None) -> Services:
    return services if key is None else await _begin(request, caller, key)


async def _own_once(request: Request, services: Owns, caller: KnownCaller, key: Key = None) -> Services:
    return services if key is None else await _begin(request, caller, key)


async def _operate_once_by_form(
    request: Request, services: OperatesByForm, caller: KnownCaller, request_key: FormKey = None
) -> Services:
    if request_key is None:
        return services
    person = replace(caller, actor=replace(caller.actor, via="dashboard"))
    for _ in range(FORM_TRIES):
        # A second click waits for the result of the first, instead of an error.
        with suppress(RequestUnderWay):
            return await _begin(request, person, request_key)
        await asyncio.sleep(FORM_PAUSE)
    return await _begin(request, person, request_key)


async def _begin(request: Request, caller: Caller, key: str) -> Services:
    attempt: Attempt = request.state.attempt
    content = f"{request.method} {request.url.path}?{request.url.query}\n".encode() + await request.body()
    state = state_of(request)
    request_key = RequestKey(caller=caller.actor.name, key=key, digest=sha256(content).digest())
    events = UntilCommit(state.app.emitter)
    connection = await attempt.begin(state.pool, request_key, events)
    return state.services(caller, InTransaction(connection, caller.actor, events))


OperatesOnce = Annotated[Services, Depends(_operate_once)]
OwnsOnce = Annotated[Services, Depends(_own_once)]
OperatesOnceByForm = Annotated[Services, Depends(_operate_once_by_form)]


def install_idempotency(application: FastAPI) -> None:
    """Install support for the Idempotency-Key on routes that take OperatesOnce."""
    application.add_middleware(OnceMiddleware)
    application.exception_handler(AlreadyAnswered)(_answer_again)


async def _answer_again(_request: Request, already: AlreadyAnswered) -> Response:
    stored = already.answer
    headers = {"Idempotency-Replayed": "true"} | ({"Location": stored.location} if stored.location else {})
    return Response(stored.body, status_code=stored.status, media_type="application/json", headers=headers)
