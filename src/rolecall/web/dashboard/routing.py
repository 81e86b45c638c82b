"""Routers of pages: what goes wrong on one of their routes is told as a page; who is not known is asked to log in."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine
from http import HTTPStatus
from math import ceil
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from rolecall.model.error_table import http_status_for
from rolecall.model.errors import DatabaseUnavailable, NotAuthenticated, RolecallError, SchemaBusy, TooManyRequests
from rolecall.web.dashboard import said
from rolecall.web.dashboard.hop import hop, may_hop
from rolecall.web.dashboard.navigation import NavigationEntry
from rolecall.web.dashboard.said import Said
from rolecall.web.dashboard.view import BACK, Unconfirmed, first_page, redirect, shown_to, where_from
from rolecall.web.http import has_any, root_of
from rolecall.web.problems import RequestRefused
from rolecall.web.state import state_of

__all__ = ["Pages", "error_page"]

CHANGES = frozenset({"POST"})
UNKNOWN = 401
# Told as they are, also to who sent a form: no other page would be one of ours, or let them in.
REFUSED = frozenset({403, 429})
# What live.js sends when it asks for a part of a page anew.
REFRESHES = "hx-request"
AWAY = 503
# Seconds after which a page that the database did not answer for asks for itself again.
AGAIN = 5
ENDED = Said("Your session has ended.", "info")
UNDONE = Said("You are not logged in any more, so nothing was changed. Log in, and send it again.", "bad")
log = logging.getLogger("rolecall.web")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Foreseen = RolecallError | RequestRefused | RequestValidationError | HTTPException


class PageRoute(APIRoute):
    """A route that answers with pages, whatever happens that we foresee."""

    def get_route_handler(self) -> Handler:
        """Stand around the route."""
        inside = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inside(request)
            except NotAuthenticated:
                return _ask_to_log_in(request)
            except Unconfirmed as asked:
                return _ask(request, asked)
            except DatabaseUnavailable as error:
                return _tell(request, error) if isinstance(error, SchemaBusy) else _tell_away(request, error)
            except (RolecallError, RequestRefused, RequestValidationError, HTTPException) as error:
                return _tell(request, error)

        return handle


class Pages(APIRouter):
    """A router of pages, of the `templates` in an app's package if one is named; `entries` stand at the side."""

    def __init__(self, package: str | None = None, entries: Collection[NavigationEntry] = ()) -> None:
        super().__init__(route_class=PageRoute, include_in_schema=False)
        self.package = package
        self.entries = tuple(entries)


def error_page(request: Request, status: int, sentence: str) -> Response:
    """Write the page that tells an error."""
    matter = {"status": status, "phrase": HTTPStatus(status).phrase, "sentence": sentence}
    shown = shown_to(request, getattr(request.state, "caller", None))
    return state_of(request).pages.page("error.html", shown, matter, status)


def _ask(request: Request, asked: Unconfirmed) -> Response:
    back = where_from(request) or first_page(request)
    matter = {"asked": asked, "back": back, "address": f"{request.url.path}?{urlencode({BACK: back})}"}
    shown = shown_to(request, getattr(request.state, "caller", None))
    return state_of(request).pages.page("question.html", shown, matter)


def _tell(request: Request, error: Foreseen) -> Response:
    status, sentence = _meaning(error)
    stood_on = where_from(request) if request.method in CHANGES else None
    if stood_on is not None and status not in REFUSED:
        return _go(request, stood_on, Said(sentence, "bad"))
    page = error_page(request, status, sentence)
    if isinstance(error, TooManyRequests):
        page.headers["retry-after"] = str(ceil(error.retry_after))
    return page


def _tell_away(request: Request, error: DatabaseUnavailable) -> Response:
    """Tell that the database does not answer; what the driver says of it names hosts and users, and is for the log."""
    log.warning("The database did not answer for %s %s: %s", request.method, request.url.path, error)
    sent = request.method in CHANGES
    matter = {"again": None if sent else AGAIN, "back": where_from(request) or first_page(request)}
    shown = shown_to(request, getattr(request.state, "caller", None))
    page = state_of(request).pages.page("away.html", shown, matter, AWAY)
    page.headers["retry-after"] = str(AGAIN)
    return page


def _ask_to_log_in(request: Request) -> Response:
    """Ask, and lead back afterwards; who had a session until now is told why."""
    if request.method in CHANGES:
        back = where_from(request) or first_page(request)
        return _go(request, _login(request, back), UNDONE)
    back = _here(request)
    if not has_any(request):
        return hop(request, back) if may_hop(request) else redirect(_login(request, back))
    if REFRESHES in request.headers:
        return Response(status_code=UNKNOWN, headers={"hx-redirect": _login(request, back)})
    return _go(request, _login(request, back), ENDED)


def _go(request: Request, where: str, told: Said) -> Response:
    response = redirect(where)
    said.remember(request, response, told)
    return response


def _login(request: Request, back: str) -> str:
    return f"{root_of(request.scope)}/login?next={quote(back)}"


def _here(request: Request) -> str:
    # Two slashes at its beginning would lead to another host.
    path = "/" + quote(request.scope["path"].lstrip("/"))
    return path + (f"?{request.url.query}" if request.url.query else "")


def _meaning(error: Foreseen) -> tuple[int, str]:
    match error:
        case RolecallError():
            return http_status_for(error), str(error)
        case RequestRefused():
            return error.status, error.detail
        case RequestValidationError():
            return 422, "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in error.errors())
        case HTTPException():
            return error.status_code, str(error.detail)
