"""What a request may be: how long, how deep, and JSON where it has a body, or a page's form; told before any route sees
it.
"""

from __future__ import annotations

import json
from typing import NoReturn
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.sql.documents import NotStorable, encode
from rolecall.web.http import API, path_below
from rolecall.web.problems import RequestRefused, problem

__all__ = ["LONGEST_BODY", "Limits"]

LONGEST_PATH = 2_000
LONGEST_QUERY = 16_000
LONGEST_BODY = 1024 * 1024
# What is read before anybody knows from whom: all bodies that are larger than a small one take this much together.
SMALL_BODY = 16 * 1024
ROOM = 64 * 1024 * 1024
DEEPEST = 64
MOST_FIELDS = 1_000


class Limits:
    """Lets pass what is within the limits, its body read and checked; answers the rest by itself."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        body = bytearray()
        try:
            if await self._is_fit(body, scope, receive, send):
                await self._application(scope, _replaying(bytes(body), receive), send)
        finally:
            self._in_hand -= len(body)

    async def _is_fit(self, body: bytearray, scope: Scope, receive: Receive, send: Send) -> bool:
        """Read the body, and say whether the request may pass; one that may not has its answer by then."""
        try:
            _require_short_target(scope)
            await self._read(body, receive)
            _require_storable(scope, body)
        except ClientDisconnect:
            return False  # half a request is none
        except RequestRefused as refused:
            await problem(refused.status, refused.kind, refused.detail)(scope, receive, send)
            return False
        return True

    async def _read(self, body: bytearray, receive: Receive) -> None:
        """Read the whole body, but never more than may be."""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part = message.get("body", b"")
            body += part
            self._in_hand += len(part)
            if len(body) > LONGEST_BODY:
                raise RequestRefused(f"a body has at most {LONGEST_BODY} bytes", status=413, kind="body-too-large")
            if len(body) > SMALL_BODY and self._in_hand > ROOM:
                raise RequestRefused("too many large bodies are under way: try again", status=503, kind="busy")
            more = message.get("more_body", False)


def _require_short_target(scope: Scope) -> None:
    if len(scope["path"]) > LONGEST_PATH or len(scope["query_string"]) > LONGEST_QUERY:
        detail = f"a path has at most {LONGEST_PATH} characters, a query {LONGEST_QUERY}"
        raise RequestRefused(detail, status=414, kind="uri-too-long")


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Hand the body out once more; after it, whatever the connection tells."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

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
        raise RequestRefused("a body is sent as application/json", status=415, kind="unsupported-media-type")


def _require_form(body: bytearray) -> None:
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        encode(fields)
    except NotStorable as error:
        raise RequestRefused(str(error), status=422, kind="unstorable-body") from None
    except ValueError as error:
        raise RequestRefused(f"the body is no form: {error}", status=400, kind="no-form") from None


def _require_json(body: bytearray) -> None:
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise RequestRefused(f"the body is not JSON: {error}", status=400, kind="not-json") from None
    _require_shallow(value)
    try:
        encode(value)
    except NotStorable as error:
        raise RequestRefused(str(error), status=422, kind="unstorable-body") from None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is none of its numbers")


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
