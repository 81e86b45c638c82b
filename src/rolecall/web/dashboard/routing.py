"""Routers of pages. Unknown callers are sent to the login; errors become pages, or problem documents for programs.

Browsers do not send the session cookie (SameSite=Strict) with a link that is followed from another site. The *hop*, a
page of this site, requests the same address again, with the cookie. It is used for GET requests only.
"""

from __future__ import annotations

import logging
from asyncio import to_thread
from collections.abc import Callable, Collection, Coroutine
from http import HTTPStatus
from math import ceil
from secrets import token_hex
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from rolecall.model.error_table import http_status_for
from rolecall.model.errors import (
    DatabaseUnavailable,
    NotAuthenticated,
    RolecallError,
    RowsBusy,
    SchemaBusy,
    TooManyRequests,
)
from rolecall.model.operator.access import Caller
from rolecall.web.dashboard.flash import Flash, remember_flash
from rolecall.web.dashboard.navigation import NavigationEntry
from rolecall.web.dashboard.parts import TooSlow
from rolecall.web.dashboard.rendering import UnrenderedPage
from rolecall.web.dashboard.view import BACK, Unconfirmed, form_address, overview_address, page_context_for, redirect
from rolecall.web.http.problems import RequestRefused, http_problem, problem
from rolecall.web.http.requests import API, has_login_cookie, path_below, root_of
from rolecall.web.state import state_of

CHANGES = frozenset({"POST"})
UNKNOWN = 401
# Shown as an error page even after a form: every page to redirect to would have the same error.
SHOWN_IN_PLACE = frozenset({403, 429})
# Sent by live.js when it refreshes a fragment.
REFRESHES = "hx-request"
UNAVAILABLE = 503
TOO_SLOW = 504
# Seconds after which a page reloads if the database did not respond, and if it was only slow.
RETRY_SECONDS = 5
RETRY_SLOW_SECONDS = 30
SESSION_ENDED = Flash("Your session has ended.", "info")
NOT_CHANGED = Flash("You are no longer logged in, so nothing was changed. Log in and send the form again.", "bad")
log = logging.getLogger("rolecall.web")
SENTENCES = {404: "There is no page at this address.", 405: "This address only accepts forms."}
REFERENCE_BYTES = 4


Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Foreseen = RolecallError | RequestRefused | RequestValidationError | HTTPException


class PageRoute(APIRoute):
    """A route that turns every expected error into a page."""

    def get_route_handler(self) -> Handler:
        inside = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await inside(request)
                return await to_thread(response.complete) if isinstance(response, UnrenderedPage) else response
            except NotAuthenticated:
                return _ask_to_log_in(request)
            except Unconfirmed as confirmation:
                return _confirmation_page(request, confirmation)
            except (RowsBusy, SchemaBusy) as error:
                return _error_response(request, error)
            except DatabaseUnavailable as error:
                return await _unavailable_page(request, error)
            except TooSlow as error:
                return _slow_page(request, str(error))
            except (RolecallError, RequestRefused, RequestValidationError, HTTPException) as error:
                return _error_response(request, error)

        return handle


class Pages(APIRouter):
    """A router of pages. `package` contains the app's `templates`; `entries` are added to the navigation."""

    def __init__(self, package: str | None = None, entries: Collection[NavigationEntry] = ()) -> None:
        super().__init__(route_class=PageRoute, include_in_schema=False)
        self.package = package
        self.entries = tuple(entries)


def error_page(request: Request, status: int, sentence: str) -> Response:
    """Return the page for an error."""
    context = {"status": status, "phrase": HTTPStatus(status).phrase, "sentence": sentence}
    page_context = page_context_for(request, getattr(request.state, "caller", None))
    return state_of(request).pages.page("error.html", page_context, context, status)


def _confirmation_page(request: Request, confirmation: Unconfirmed) -> Response:
    back = form_address(request) or overview_address(request)
    context = {"confirmation": confirmation, "back": back, "address": f"{request.url.path}?{urlencode({BACK: back})}"}
    page_context = page_context_for(request, getattr(request.state, "caller", None))
    return state_of(request).pages.page("question.html", page_context, context)


def _error_response(request: Request, error: Foreseen) -> Response:
    status, sentence = _status_and_sentence(error)
    form_page = form_address(request) if request.method in CHANGES else None
    if form_page is not None and status not in SHOWN_IN_PLACE:
        return _go(request, form_page, Flash(sentence, "bad"))
    page = error_page(request, status, sentence)
    if isinstance(error, TooManyRequests):
        page.headers["retry-after"] = str(ceil(error.retry_after))
    return page


async def _unavailable_page(request: Request, error: DatabaseUnavailable) -> Response:
    """Return the page for an unavailable or slow database. The driver's message contains host and user names, so it is
    only logged.
    """
    log.warning("The database did not respond for %s %s: %s", request.method, request.url.path, error)
    caller = getattr(request.state, "caller", None)
    reason = caller and await state_of(request).find_slowness(caller, error)
    return _slow_page(request, reason) if reason else _retrying_page(request, UNAVAILABLE, RETRY_SECONDS, None)


def _slow_page(request: Request, reason: str) -> Response:
    return _retrying_page(request, TOO_SLOW, RETRY_SLOW_SECONDS, reason)


def _retrying_page(request: Request, status: int, seconds: int, reason: str | None) -> Response:
    context = {
        "status": status,
        "slow": reason,
        "again": None if request.method in CHANGES else seconds,
        "back": form_address(request) or overview_address(request),
    }
    page_context = page_context_for(request, getattr(request.state, "caller", None))
    page = state_of(request).pages.page("away.html", page_context, context, status)
    page.headers["retry-after"] = str(seconds)
    return page


def _ask_to_log_in(request: Request) -> Response:
    """Send the browser to the login, which leads back here. An ended session is explained there."""
    if request.method in CHANGES:
        back = form_address(request) or overview_address(request)
        return _go(request, _login(request, back), NOT_CHANGED)
    back = _current_address(request)
    if REFRESHES in request.headers:
        # live.js shows a link to it, and the page keeps its content.
        return PlainTextResponse(_login(request, back), status_code=UNKNOWN)
    if not has_login_cookie(request):
        return _hop(request, back) if _may_hop(request) else redirect(_login(request, back))
    return _go(request, _login(request, back), SESSION_ENDED)


def _go(request: Request, address: str, flash: Flash) -> Response:
    response = redirect(address)
    remember_flash(request, response, flash)
    return response


def _login(request: Request, back: str) -> str:
    return f"{root_of(request.scope)}/login?next={quote(back)}"


def _current_address(request: Request) -> str:
    # Two slashes at the beginning would lead to another host.
    path = "/" + quote(request.scope["path"].lstrip("/"))
    return path + (f"?{request.url.query}" if request.url.query else "")


def _status_and_sentence(error: Foreseen) -> tuple[int, str]:
    match error:
        case RolecallError():
            return http_status_for(error), str(error)
        case RequestRefused():
            return error.status, error.detail
        case RequestValidationError():
            return 422, "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in error.errors())
        case HTTPException():
            return error.status_code, str(error.detail)


def _may_hop(request: Request) -> bool:
    """Return whether the request follows a link on another site. The hop is on this site, so it cannot repeat."""
    headers = request.headers
    return (
        request.method == "GET"
        and headers.get("sec-fetch-site") == "cross-site"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _hop(request: Request, to: str) -> Response:
    return state_of(request).pages.page("hop.html", page_context_for(request, None), {"to": to})


def answer_pages(application: FastAPI) -> None:
    """Install error handlers that return a page to browsers."""
    application.exception_handler(HTTPException)(_http)
    application.exception_handler(Exception)(_unforeseen)


async def _http(request: Request, error: HTTPException) -> Response:
    if not _wants_page(request):
        return http_problem(error)
    request.state.caller = await _find_caller(request)
    page = error_page(request, error.status_code, SENTENCES.get(error.status_code, str(error.detail)))
    page.headers.update(error.headers or {})
    return page


async def _unforeseen(request: Request, error: Exception) -> Response:
    """Log the error, and show only a reference to the log entry."""
    reference = token_hex(REFERENCE_BYTES)
    log.error(
        "Unexpected error at %s %s, reference %s",
        request.method,
        path_below(request.scope),
        reference,
        exc_info=error,
    )
    sentence = f"An unexpected error occurred. The server's log has the details under the reference {reference}."
    return error_page(request, 500, sentence) if _wants_page(request) else problem(500, "internal-error", sentence)


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and not path_below(request.scope).startswith(API)


async def _find_caller(request: Request) -> Caller | None:
    """Return the caller, for the navigation; None if unknown."""
    try:
        return await state_of(request).access.identify(request)
    except RolecallError:
        return None
