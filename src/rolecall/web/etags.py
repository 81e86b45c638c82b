"""Answers that a caller may keep: unchanged ones are not sent twice."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter

from rolecall.web.problems import Responses

__all__ = ["UNCHANGED", "tagged"]

UNCHANGED: Responses = {304: {"description": "Unchanged since the answer with the ETag of If-None-Match"}}


def tagged(request: Request, value: Any) -> Response:
    """Answer with the value and its ETag; only with the status 304 to who has it already."""
    body = _adapter(value.__class__).dump_json(value)
    headers = {"ETag": f'"{sha256(body).hexdigest()[:32]}"', "Cache-Control": "no-cache"}
    if _has(request, headers["ETag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _has(request: Request, etag: str) -> bool:
    kept = request.headers.get("if-none-match", "")
    return kept == "*" or etag in (each.strip().removeprefix("W/") for each in kept.split(","))


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
