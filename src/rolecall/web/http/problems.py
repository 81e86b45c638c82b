"""Errors as problem documents (RFC 9457). The error table sets the status; the error's class sets the type."""

from __future__ import annotations

import re
from http import HTTPStatus
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from rolecall.model.error_table import http_status_for
from rolecall.model.errors import NotAuthenticated, RolecallError, TooManyRequests

MEDIA_TYPE = "application/problem+json"
# Where the OpenAPI document describes a model.
REFERENCE = "#/components/schemas/{model}"
Responses = dict[int | str, dict[str, Any]]
ANYWHERE = (400, 401, 403, 413, 414, 415, 422, 429, 500, 503)
WORD = re.compile(r"(?<!^)(?=[A-Z])")


class Problem(BaseModel):
    """An error: `type` is a stable name for programs, `detail` a sentence for people."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


class RequestRefused(Exception):
    """Raised by an app's routes to respond with this problem document. `kind` is its stable name."""

    def __init__(self, detail: str, *, status: int, kind: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.kind = kind


def refuses(*statuses: int) -> Responses:
    """Document the error statuses of a route, in addition to those that every route has."""
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model=Problem.__name__)}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


PROBLEMS = refuses(*ANYWHERE)


def answer_problems(application: FastAPI) -> None:
    """Install handlers that turn every error of a route into a problem document."""
    application.exception_handler(RolecallError)(_ours)
    application.exception_handler(RequestRefused)(_answer_refused)
    application.exception_handler(RequestValidationError)(_invalid)


def problem(status: int, kind: str, detail: str, **more: object) -> JSONResponse:
    """Return a problem document as a response."""
    title = HTTPStatus(status).phrase
    body = {"type": f"urn:rolecall:{kind}", "title": title, "status": status, "detail": detail, **more}
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE)


def problem_of(error: RolecallError) -> JSONResponse:
    """Return the problem document of a Rolecall error."""
    response = problem(http_status_for(error), kind_of(type(error)), str(error))
    match error:
        case NotAuthenticated():
            response.headers["WWW-Authenticate"] = "Bearer"
        case TooManyRequests():
            response.headers["Retry-After"] = str(ceil(error.retry_after))
        case _:
            pass
    return response


async def _ours(_request: Request, error: RolecallError) -> JSONResponse:
    return problem_of(error)


async def _answer_refused(_request: Request, error: RequestRefused) -> JSONResponse:
    return problem(error.status, error.kind, error.detail)


async def _invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
    errors = [{"where": ".".join(map(str, each["loc"])), "problem": each["msg"]} for each in error.errors()]
    detail = "; ".join(f"{each['where']}: {each['problem']}" for each in errors)
    return problem(422, "invalid-request", detail, errors=errors)


def http_problem(error: HTTPException) -> JSONResponse:
    """Return the problem document of an error raised by the framework."""
    response = problem(error.status_code, kind_of(HTTPStatus(error.status_code).phrase), str(error.detail))
    response.headers.update(error.headers or {})
    return response


def kind_of(kind: type[RolecallError] | str) -> str:
    """Return the stable name of an error, without `urn:rolecall:`."""
    text = kind if isinstance(kind, str) else WORD.sub("-", kind.__name__)
    return text.lower().replace(" ", "-")
