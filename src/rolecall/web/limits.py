"""What a request may be: how long, how deep, and JSON where it has a body, or a page's form; told before any route sees
it.
"""

from __future__ import annotations

import json
from typing import NoReturn
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.sql.strict_json import NotStorable, encode
from rolecall.web.paths import API, path_below
from rolecall.web.problems import RequestRefused, problem

__all__ = ["LONGEST_BODY", "Limits"]

LONGEST_PATH = 2_000
LONGEST_QUERY = 16_000
LONGEST_BODY = 1024 * 1024
DEEPEST = 64
MOST_FIELDS = 1_000


class Limits:
    """Lets pass what is within the limits, its body read and checked; answers the rest by itself."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        try:
            _require_short_target(scope)
            body = await _read(receive)
            _require_storable(scope, body)
        except RequestRefused as refused:
            await problem(refused.status, refused.kind, refused.detail)(scope, receive, send)
            return
        await self._application(scope, _replaying(body, receive), send)


def _require_short_target(scope: Scope) -> None:
    if len(scope["path"]) > LONGEST_PATH or len(scope["query_string"]) > LONGEST_QUERY:
        detail = f"a path has at most {LONGEST_PATH} characters, a query {LONGEST_QUERY}"
        raise RequestRefused(detail, status=414, kind="uri-too-long")


async def _read(receive: Receive) -> bytes:
    """Read the whole body, but never more than may be."""
    body = bytearray()
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > LONGEST_BODY:
            raise RequestRefused(f"a body has at most {LONGEST_BODY} bytes", status=413, kind="body-too-large")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Hand the body out once more; after it, whatever the connection tells."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _require_storable(scope: Scope, body: bytes) -> None:
    if not body:
        return
    kind = dict(scope["headers"]).get(b"content-type", b"").split(b";")[0].strip().lower()
    if kind == b"application/json":
        _require_json(body)
    elif kind == b"application/x-www-form-urlencoded" and not path_below(scope).startswith(API):
        _require_form(body)
    else:
        raise RequestRefused("a body is sent as application/json", status=415, kind="unsupported-media-type")


def _require_form(body: bytes) -> None:
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        encode(fields)
    except NotStorable as error:
        raise RequestRefused(str(error), status=422, kind="unstorable-body") from None
    except ValueError as error:
        raise RequestRefused(f"the body is no form: {error}", status=400, kind="no-form") from None


def _require_json(body: bytes) -> None:
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
