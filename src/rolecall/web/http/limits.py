"""Checks each request before its route runs: the length of its URL, and the size, type and structure of its body.

    16 kB or less    checked at once for all callers: costs a few milliseconds at most
    more             the caller is identified by the headers before the rest is read; strangers are rejected (401);
                     the body is checked in a thread, one at a time

The CPU time to parse a JSON body depends on its containers (`[[],[],...]` costs 100 times as much as one text), so
their number is limited before parsing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import NoReturn
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.model.errors import NotAuthenticated, RolecallError
from rolecall.model.operator.access import Caller
from rolecall.sql.encoding import NotStorable, encode
from rolecall.web.http.problems import RequestRefused, problem, problem_of
from rolecall.web.http.requests import API, path_below

LONGEST_PATH = 2_000
LONGEST_QUERY = 16_000
LONGEST_BODY = 1024 * 1024
# The limit for unauthenticated callers: enough for logins, and for results sent with a completion token.
SMALL_BODY = 16 * 1024
# All larger bodies together.
MOST_BUFFERED = 64 * 1024 * 1024
DEEPEST = 64
# Containers and values: 50 and 200 for each of a batch's 1,000 tasks. Parsing them holds the GIL for about 10 ms.
MOST_CONTAINERS = 50_000
MOST_VALUES = 200_000
MOST_FIELDS = 1_000


class Limits:
    """Middleware that rejects requests outside the limits and passes on the others with their body read and checked.

    `identify` returns the caller by the headers of a request. Raises RolecallError.
    """

    def __init__(self, app: ASGIApp, identify: Callable[[Request], Awaitable[Caller]]) -> None:
        self._application = app
        self._identify = identify
        self._buffered_bytes = 0
        self._one_by_one = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        body = bytearray()
        try:
            if await self._accept_body(body, scope, receive, send):
                await self._application(scope, _with_body(bytes(body), receive), send)
        finally:
            self._buffered_bytes -= len(body)

    async def _accept_body(self, body: bytearray, scope: Scope, receive: Receive, send: Send) -> bool:
        """Read and check the body. Returns False if the request was rejected and answered."""
        try:
            _require_short_target(scope)
            await self._read(body, scope, receive)
            await self._check(scope, body)
        except ClientDisconnect:
            return False  # incomplete: nothing to answer
        except RequestRefused as refused:
            await problem(refused.status, refused.kind, refused.detail)(scope, receive, send)
            return False
        except RolecallError as error:
            await problem_of(error)(scope, receive, send)
            return False
        return True

    async def _check(self, scope: Scope, body: bytearray) -> None:
        if len(body) <= SMALL_BODY:
            _require_storable(scope, body)
            return
        # One at a time, because the threads share the GIL with the event loop.
        async with self._one_by_one:
            await asyncio.to_thread(_require_storable, scope, body)

    async def _require_authenticated(self, scope: Scope) -> None:
        try:
            await self._identify(Request(scope))
        except NotAuthenticated as error:
            raise NotAuthenticated(f"{error}; without authentication, a body has at most {SMALL_BODY} bytes") from None

    async def _read(self, body: bytearray, scope: Scope, receive: Receive) -> None:
        more, is_known = True, False
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part = message.get("body", b"")
            body += part
            self._buffered_bytes += len(part)
            if len(body) > LONGEST_BODY:
                raise RequestRefused(
                    f"a body must have at most {LONGEST_BODY} bytes", status=413, kind="body-too-large"
                )
            if len(body) > SMALL_BODY and self._buffered_bytes > MOST_BUFFERED:
                raise RequestRefused("too many large requests at once: try again later", status=503, kind="busy")
            if len(body) > SMALL_BODY and not is_known:
                await self._require_authenticated(scope)
                is_known = True
            more = message.get("more_body", False)


def _require_short_target(scope: Scope) -> None:
    if len(scope["path"]) > LONGEST_PATH or len(scope["query_string"]) > LONGEST_QUERY:
        detail = f"the path must have at most {LONGEST_PATH} characters, and the query at most {LONGEST_QUERY}"
        raise RequestRefused(detail, status=414, kind="uri-too-long")


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body again, and then passes on further messages."""
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return unread.pop() if unread else await receive()

    return replay


def _require_storable(scope: Scope, body: bytearray) -> None:
    if not body:
        return
    kind = dict(scope["headers"]).get(b"content-type", b"").split(b";")[0].strip().lower()
    if kind == b"application/json":
        _require_json(body)
    elif kind == b"application/x-www-form-urlencoded" and not path_below(scope).startswith(API):
        _require_form(body)
    else:
        raise RequestRefused("the content type must be application/json", status=415, kind="unsupported-media-type")


def _require_form(body: bytearray) -> None:
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        encode(fields)
    except NotStorable as error:
        raise RequestRefused(str(error), status=422, kind="unstorable-body") from None
    except ValueError as error:
        raise RequestRefused(f"the body is not a valid form: {error}", status=400, kind="no-form") from None


def _require_json(body: bytearray) -> None:
    containers = _count_containers(body)
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise RequestRefused(f"the body is not JSON: {error}", status=400, kind="not-json") from None
    if containers > DEEPEST:
        _require_shallow(value)
    try:
        encode(value)
    except NotStorable as error:
        raise RequestRefused(str(error), status=422, kind="unstorable-body") from None


def _count_containers(body: bytearray) -> int:
    """Return an upper bound of the number of containers, without parsing. Raises RequestRefused for too many."""
    if not _is_complex(body):
        return _brackets(body)
    # Only brackets outside strings count. A backslash there is invalid JSON, and rejected by the parser.
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(unescaped.split(b'"')[::2])
    if _is_complex(outside):
        detail = f"a body must have at most {MOST_CONTAINERS} objects and arrays, and {MOST_VALUES} values: split it"
        raise RequestRefused(detail, status=422, kind="body-too-complex")
    return _brackets(outside)


def _is_complex(text: bytes | bytearray) -> bool:
    return _brackets(text) > MOST_CONTAINERS or text.count(b",") > MOST_VALUES


def _brackets(text: bytes | bytearray) -> int:
    return text.count(b"[") + text.count(b"{")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _require_shallow(value: object) -> None:
    level = _containers([value])
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _containers(each)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> RequestRefused:
    return RequestRefused(f"the body is nested more than {DEEPEST} levels deep", status=422, kind="body-too-deep")


def _containers(value: dict[str, object] | list[object]) -> list[dict[str, object] | list[object]]:
    items = value.values() if isinstance(value, dict) else value
    return [item for item in items if isinstance(item, dict | list)]
