"""The cookie that holds a session: sent back to this host only, and out of any script's reach."""

from __future__ import annotations

import re

from fastapi import Request, Response

from rolecall.model.access import Session
from rolecall.web.paths import root_of

__all__ = ["forget_session", "keep_session", "session_secret"]

NAME = "rolecall"
# A browser takes a cookie of this name only over https, without a domain, and for the whole host.
SECURE_NAME = "__Host-rolecall"
UNNAMEABLE = re.compile(r"[^A-Za-z0-9]+")


def keep_session(request: Request, response: Response, session: Session, seconds: int) -> None:
    """Let the browser keep the session."""
    _set(request, response, session.secret, seconds)


def forget_session(request: Request, response: Response) -> None:
    """Let the browser forget the session."""
    _set(request, response, "", 0)


def session_secret(request: Request) -> str | None:
    """What the browser has kept, if it has."""
    return request.cookies.get(_name(request)) or None


def _set(request: Request, response: Response, value: str, seconds: int) -> None:
    response.set_cookie(
        _name(request), value, max_age=seconds, path="/", secure=_is_secure(request), httponly=True, samesite="strict"
    )


def _name(request: Request) -> str:
    # A cookie bound to the host is sent to all of its paths: several pools that are mounted there have a name each.
    mounted = UNNAMEABLE.sub("-", root_of(request.scope))
    return (SECURE_NAME if _is_secure(request) else NAME) + mounted


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
