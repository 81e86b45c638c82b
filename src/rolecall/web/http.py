"""HTTP, as all routes need it: paths, host names, headers, cookies, ETags, and which site a request comes from.

- A path is read below the one at which this application is mounted.
- `KnownHosts` lets a request in only under a name that this server has: where everybody may come in, a page whose name
  was made to point here (DNS rebinding) must not.
- `SecurityHeaders` stand on every answer, whatever made it: a browser may do next to nothing with it. A route that
  needs more, such as a page with scripts of its own, sets the header itself.
- What another site's page lets a visitor's browser send is refused: neither cookies nor loopback may serve a stranger.
  Browsers say where a request comes from, in Sec-Fetch-Site and Origin; programs say neither. There is no CORS.
- The cookies that let a browser in are sent back to this host only, and are out of any script's reach.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from socket import socket
from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.model.access import Session
from rolecall.model.errors import NotAllowed
from rolecall.web.problems import Responses, problem

__all__ = [
    "API",
    "LOCAL_DOMAIN",
    "LOCAL_NAMES",
    "UNCHANGED",
    "KnownHosts",
    "SecurityHeaders",
    "browser_name",
    "forget_session",
    "has_login_cookie",
    "host_name",
    "host_of",
    "keep_session",
    "own_address",
    "path_below",
    "refuse_embedding",
    "refuse_other_sites",
    "require_own_site",
    "root_of",
    "session_secret",
    "with_etag",
]

API = "/api/"
# Browsers take a backslash for a slash, pass over tabs and line ends, and two slashes lead to another host.
OWN_PATH = re.compile(r"/(?!/)[^\\\x00-\x20\x7f]*")
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Browsers resolve every name below it to loopback.
LOCAL_DOMAIN = ".localhost"
HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
# For a year, from an answer over https on. Loopback has no name of its own to promise that for.
STRICT_TRANSPORT = ("strict-transport-security", "max-age=31536000")
OTHER_SITES = frozenset({"cross-site", "same-site"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
SESSION_COOKIE = "rolecall"
# It opens nothing: it only tells this browser from strangers who try to log in.
BROWSER_COOKIE = "rolecall-browser"
BROWSER_SECONDS = 180 * 86_400
# A browser takes a cookie of such a name only over https, without a domain, and for the whole host.
SECURE_PREFIX = "__Host-"
UNNAMEABLE = re.compile(r"[^A-Za-z0-9]+")
UNCHANGED: Responses = {304: {"description": "Unchanged since the answer with the ETag of If-None-Match"}}


def root_of(scope: Scope) -> str:
    """The path at which this application is mounted, without a slash at its end; empty at the top of a host."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def path_below(scope: Scope) -> str:
    """The path of a request as our own routes are written."""
    path: str = scope["path"]
    root = root_of(scope)
    below = path.removeprefix(root)
    return below if below.startswith("/") else "/" if path == root else path


def own_address(root: str, address: str) -> str:
    """The path on this host that somebody says he wants to see; the first page for what could be anything else."""
    below = address.removeprefix(root)
    return address if address.startswith(root) and OWN_PATH.fullmatch(below) else f"{root}/"


def host_of(listener: socket) -> str:
    """The address at which a socket listens, as a request names it."""
    address = str(listener.getsockname()[0])
    return f"[{address}]" if ":" in address else address


class KnownHosts:
    """Rejects requests with several Host headers (400), and those for another host (421); without `hosts`, any host
    is served.

    `secret` is one more host, which is not named to strangers.
    """

    def __init__(self, application: ASGIApp, hosts: Collection[str] | None, secret: str | None = None) -> None:
        self._application = application
        self._hosts = hosts
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._refusal(Headers(scope=scope).getlist("host")) if scope["type"] == "http" else None
        await (answer or self._application)(scope, receive, send)

    def _refusal(self, named: list[str]) -> ASGIApp | None:
        if len(named) > 1:
            return problem(400, "several-hosts", "a request has one Host header")
        host = host_name("".join(named))
        if self._hosts is None or host in self._hosts or host == self._secret:
            return None
        return problem(421, "unknown-host", f"this server is called {' or '.join(sorted(self._hosts))}")


def host_name(host: str) -> str:
    """The host that a request names, without the port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


class SecurityHeaders:
    """Adds what is missing to each answer; what the API tells is not kept by anybody on its way."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        private = path_below(scope).startswith(API)
        secure = scope.get("scheme") == "https" and host_name(Headers(scope=scope).get("host", "")) not in LOCAL_NAMES

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(MutableHeaders(scope=message), private=private, secure=secure)
            await send(message)

        await self._application(scope, receive, send_with_headers)


def _add_headers(headers: MutableHeaders, *, private: bool, secure: bool) -> None:
    for name, value in (*HEADERS.items(), *([STRICT_TRANSPORT] if secure else [])):
        headers.setdefault(name, value)
    if private:
        headers.setdefault("cache-control", "no-store")


def refuse_other_sites(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for a change that another site's page asks for; what is no browser may pass."""
    if request.method not in SAFE_METHODS and _is_own(request, trusted) is False:
        raise NotAllowed("a page of another site may not ask for this")


def refuse_embedding(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for what another site's page asks for by itself: streams that it cannot read take room too.

    A link that somebody follows may lead here.
    """
    is_other = request.headers.get("sec-fetch-site") in OTHER_SITES and not _is_own(request, trusted)
    if is_other and request.headers.get("sec-fetch-mode") != "navigate":
        raise NotAllowed("a page of another site may not ask for this")


def require_own_site(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for a change unless the browser says that a page of this site asks for it, or a trusted one."""
    if request.method not in SAFE_METHODS and not _is_own(request, trusted):
        raise NotAllowed("with a session, a change must come from a page of this site (Sec-Fetch-Site or Origin)")


def _is_own(request: Request, trusted: Collection[str]) -> bool | None:
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site == "same-origin":
        return True
    if origin is not None:
        return origin.lower() in trusted or origin.partition("://")[2] == request.headers.get("host")
    return None if site is None else False


def keep_session(request: Request, response: Response, session: Session, seconds: int) -> None:
    """Let the browser keep the session, and what it is known by from now on."""
    _set_cookie(request, response, _session_cookie(request), session.secret, seconds)
    if session.browser is not None:
        _set_cookie(request, response, _cookie_name(request, BROWSER_COOKIE), session.browser, BROWSER_SECONDS)


def browser_name(request: Request) -> str | None:
    """What the browser is known by, if somebody has logged in with it before."""
    return request.cookies.get(_cookie_name(request, BROWSER_COOKIE)) or None


def session_secret(request: Request) -> str | None:
    """The session that the browser has kept, if it has."""
    return request.cookies.get(_session_cookie(request)) or None


def has_login_cookie(request: Request) -> bool:
    """Return whether the browser keeps a session, even one that has ended."""
    return session_secret(request) is not None


def forget_session(request: Request, response: Response) -> None:
    """Make the browser forget its session."""
    if has_login_cookie(request):
        _set_cookie(request, response, _session_cookie(request), "", 0)


def _set_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=_is_secure(request), httponly=True, samesite="strict"
    )


def _session_cookie(request: Request) -> str:
    if not host_name(request.headers.get("host", "")).endswith(LOCAL_DOMAIN):
        return _cookie_name(request, SESSION_COOKIE)
    # Browsers send a cookie to all ports of a host, and servers with the same token share their host name.
    port = (request.scope.get("server") or ("", None))[1]
    return _cookie_name(request, f"{SESSION_COOKIE}-{port}")


def _cookie_name(request: Request, name: str) -> str:
    # A cookie bound to the host is sent to all of its paths: several pools that are mounted there have a name each.
    mounted = UNNAMEABLE.sub("-", root_of(request.scope))
    return (SECURE_PREFIX if _is_secure(request) else "") + name + mounted


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def with_etag(request: Request, value: Any) -> Response:
    """Answer with the value and its ETag; only with the status 304 to who has it already."""
    body = _json_adapter(value.__class__).dump_json(value)
    headers = {"ETag": f'"{sha256(body).hexdigest()[:32]}"', "Cache-Control": "no-cache"}
    if _has_etag(request, headers["ETag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _has_etag(request: Request, etag: str) -> bool:
    kept = request.headers.get("if-none-match", "")
    return kept == "*" or etag in (each.strip().removeprefix("W/") for each in kept.split(","))


@cache
def _json_adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
