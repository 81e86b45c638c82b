"""The pages for login and logout."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Annotated

from fastapi import Form, Request, Response

from rolecall.model.errors import NotAuthenticated, TooManyRequests
from rolecall.service.arguments import LONGEST_NAME
from rolecall.web.access.passwords import LONGEST
from rolecall.web.dashboard.flash import forget_flash, read_flash
from rolecall.web.dashboard.formats import duration
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import overview_address, page_context_for, redirect
from rolecall.web.dependencies import KnownCaller
from rolecall.web.http.requests import forget_session, own_address, root_of, set_session_cookie
from rolecall.web.state import require_cookies, state_of

router = Pages()

NOT_THE_TOKEN = "This is not the token of this server."  # noqa: S105 - a sentence

Name = Annotated[str, Form(max_length=LONGEST_NAME)]
Password = Annotated[str, Form(max_length=LONGEST)]


@router.get("/login")
async def ask_who(request: Request, next: str = "/") -> Response:  # noqa: A002 - the usual name of this parameter
    """Show the form for name and password."""
    return _form(request, next)


@router.post("/login")
async def log_in(request: Request, name: Name, password: Password, next: Annotated[str, Form()] = "/") -> Response:  # noqa: A002
    """Open a session, stored in a cookie, and redirect to the requested page."""
    logins = state_of(request).logins
    require_cookies(request)
    try:
        session = await logins.open(request, name, password)
    except NotAuthenticated as error:
        return _form(request, next, wrong=str(error), status=401)
    except TooManyRequests as error:
        return _wait(request, next, error.retry_after)
    response = redirect(own_address(root_of(request.scope), next))
    set_session_cookie(request, response, session, logins.seconds)
    return response


@router.post("/logout")
async def log_out(request: Request, caller: KnownCaller) -> Response:
    """End the session of the browser, if it has one."""
    response = redirect(overview_address(request))
    await state_of(request).logins.close(request, caller)
    forget_session(request, response)
    return response


@router.get("/enter")
async def enter(request: Request, token: str = "", next: str = "/") -> Response:  # noqa: A002
    """Open a session for a browser with the local token, under the host name at which its cookie counts.

    The last redirect removes the token from the address.
    """
    access, seconds = state_of(request).access, state_of(request).logins.seconds
    if not token:
        return _form(request, next)
    if not await access.is_token(request, token):
        return _form(request, next, wrong=NOT_THE_TOKEN, status=401)
    if not access.takes_cookies(request):
        return redirect(str(request.url.replace(hostname=access.browser_host)))
    response = redirect(own_address(root_of(request.scope), next))
    set_session_cookie(request, response, await access.open_session(request, seconds=seconds), seconds)
    return response


def _wait(request: Request, next_page: str, seconds: float) -> Response:
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    wrong = f"Too many logins have failed. Try again in {duration(ceil(seconds))}."
    response = _form(request, next_page, wrong=wrong, until=until, status=429)
    response.headers["retry-after"] = str(ceil(seconds))
    return response


def _form(
    request: Request, next_page: str, *, wrong: str | None = None, until: datetime | None = None, status: int = 200
) -> Response:
    flash = read_flash(request)
    state = state_of(request)
    context = {
        "next": own_address(root_of(request.scope), next_page),
        "wrong": wrong,
        "until": until,
        "takes_token": state.access.browser_host is not None,
        "takes_cookies": state.access.takes_cookies(request),
    }
    response = state.pages.page("login.html", page_context_for(request, None, flash), context, status)
    if flash is not None:
        forget_flash(request, response)
    return response
