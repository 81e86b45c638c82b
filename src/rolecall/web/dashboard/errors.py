"""What goes wrong outside of any page's route is told to a browser as a page too, and to a program as a problem."""

from __future__ import annotations

import logging
from secrets import token_hex

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from rolecall.model.access import Caller
from rolecall.model.errors import RolecallError
from rolecall.web.dashboard.routing import error_page
from rolecall.web.http import API, path_below
from rolecall.web.problems import http_problem, problem
from rolecall.web.state import state_of

__all__ = ["answer_pages"]

SENTENCES = {404: "There is no page at this address.", 405: "This address only takes what a form sends."}
REFERENCE_BYTES = 4

log = logging.getLogger("rolecall.web")


def answer_pages(application: FastAPI) -> None:
    """Let a browser that asks for a page get one, whatever becomes of it."""
    application.exception_handler(HTTPException)(_http)
    application.exception_handler(Exception)(_unforeseen)


async def _http(request: Request, error: HTTPException) -> Response:
    if not _wants_page(request):
        return http_problem(error)
    request.state.caller = await _who(request)
    page = error_page(request, error.status_code, SENTENCES.get(error.status_code, str(error.detail)))
    page.headers.update(error.headers or {})
    return page


async def _unforeseen(request: Request, error: Exception) -> Response:
    """Tell nobody what went wrong but the log, and where to find it there."""
    reference = token_hex(REFERENCE_BYTES)
    log.error(
        "An error that nobody foresaw, at %s %s, reference %s",
        request.method,
        path_below(request.scope),
        reference,
        exc_info=error,
    )
    sentence = (
        f"Something went wrong that nobody foresaw. The server's log knows more, under the reference {reference}."
    )
    return error_page(request, 500, sentence) if _wants_page(request) else problem(500, "internal-error", sentence)


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and not path_below(request.scope).startswith(API)


async def _who(request: Request) -> Caller | None:
    """Who asks, so that the way to other pages can be shown; nobody where that cannot be said."""
    try:
        return await state_of(request).access.identify(request)
    except RolecallError:
        return None
