"""The cookies that let a browser in: sent back to this host only, and out of any script's reach."""

from __future__ import annotations

import re

from fastapi import Request, Response

from rolecall.model.access import Session
from rolecall.web.paths import root_of

__all__ = ["forget_all", "has_any", "keep_local", "keep_session", "known_by", "local_stamp", "session_secret"]

SESSION = "rolecall"
LOCAL = "rolecall-local"
# It opens nothing: it only tells this browser from strangers who try to log in.
BROWSER = "rolecall-browser"
BROWSER_SECONDS = 180 * 86_400
# A browser takes a cookie of such a name only over https, without a domain, and for the whole host.
SECURE = "__Host-"
UNNAMEABLE = re.compile(r"[^A-Za-z0-9]+")


def keep_session(request: Request, response: Response, session: Session, seconds: int) -> None:
    """Let the browser keep the session, and what it is known by from now on."""
    _set(request, response, _session(request), session.secret, seconds)
    if session.browser is not None:
        _set(request, response, _named(request, BROWSER), session.browser, BROWSER_SECONDS)


def known_by(request: Request) -> str | None:
    """What the browser is known by, if somebody has logged in with it before."""
    return request.cookies.get(_named(request, BROWSER)) or None


def session_secret(request: Request) -> str | None:
    """The session that the browser has kept, if it has."""
    return request.cookies.get(_session(request)) or None


def keep_local(request: Request, response: Response, stamp: str, seconds: int) -> None:
    """Let the browser keep what was made of this machine's token."""
    _set(request, response, _local(request), stamp, seconds)


def local_stamp(request: Request) -> str | None:
    """What the browser has kept of this machine's token, if it has."""
    return request.cookies.get(_local(request)) or None


def has_any(request: Request) -> bool:
    """Whether the browser has kept anything that lets it in, or did until now."""
    return session_secret(request) is not None or local_stamp(request) is not None


def forget_all(request: Request, response: Response) -> None:
    """Let the browser forget what lets it in."""
    for name in (_session(request), _local(request)):
        if name in request.cookies:
            _set(request, response, name, "", 0)


def _set(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=_is_secure(request), httponly=True, samesite="strict"
    )


def _session(request: Request) -> str:
    return _named(request, SESSION)


def _local(request: Request) -> str:
    # Browsers send a cookie to all ports of a host: several servers of one machine have a name each.
    port = (request.scope.get("server") or ("", None))[1]
    return _named(request, f"{LOCAL}-{port}")


def _named(request: Request, name: str) -> str:
    # A cookie bound to the host is sent to all of its paths: several pools that are mounted there have a name each.
    mounted = UNNAMEABLE.sub("-", root_of(request.scope))
    return (SECURE if _is_secure(request) else "") + name + mounted


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
