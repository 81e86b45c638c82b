"""HTTP helpers of all routes: paths, host names, headers, cookies, ETags, and the site that a request comes from.

- Paths are relative to the one at which the application is mounted.
- `KnownHosts` serves only requests for a known host name, which stops DNS rebinding.
- `SecurityHeaders` adds strict headers to every response. A route that needs more, such as a page with scripts, sets
  the header itself.
- Changes requested by other sites' pages are rejected, by Sec-Fetch-Site and Origin, which only browsers send. There is
  no CORS.
- Login cookies are HttpOnly and bound to this host.
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

from rolecall.model.errors import NotAllowed
from rolecall.model.operator.access import Session
from rolecall.web.http.problems import Responses, problem

API = "/api/"
# The key of the ASGI scope with the place of a pool on a server with several (`web.pools.place`).
PLACE = "rolecall.place"
# Browsers treat a backslash as a slash and skip tabs and line ends, and `//` leads to another host.
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
# For a year, in responses over https. Loopback addresses cannot have it.
STRICT_TRANSPORT = ("strict-transport-security", "max-age=31536000")
OTHER_SITES = frozenset({"cross-site", "same-site"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
SESSION_COOKIE = "rolecall"
# It gives no access: it only distinguishes a known browser from strangers who try to log in.
BROWSER_COOKIE = "rolecall-browser"
BROWSER_SECONDS = 180 * 86_400
# Browsers accept a cookie with this prefix only over https, without a domain and for the whole host.
SECURE_PREFIX = "__Host-"
UNNAMEABLE = re.compile(r"[^A-Za-z0-9]+")
UNCHANGED: Responses = {304: {"description": "Unchanged since the response with the ETag in If-None-Match"}}


def root_of(scope: Scope) -> str:
    """Return the path at which the application is mounted, without a trailing slash; empty at the root of a host."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def path_below(scope: Scope) -> str:
    """Return the path of a request relative to the mount point."""
    path: str = scope["path"]
    root = root_of(scope)
    below = path.removeprefix(root)
    return below if below.startswith("/") else "/" if path == root else path


def own_address(root: str, address: str) -> str:
    """Return the requested path if it is on this host; the first page for anything else."""
    below = address.removeprefix(root)
    return address if address.startswith(root) and OWN_PATH.fullmatch(below) else f"{root}/"


def host_of(listener: socket) -> str:
    """Return the address at which a socket listens, as a Host header spells it."""
    address = str(listener.getsockname()[0])
    return f"[{address}]" if ":" in address else address


class KnownHosts:
    """Rejects requests with several Host headers (400) and those for an unknown host (421).

    Without `hosts`, any host is served. `secret` is one more host, which error messages do not reveal.
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
            return problem(400, "several-hosts", "a request must have exactly one Host header")
        host = host_name("".join(named))
        if self._hosts is None or host in self._hosts or host == self._secret:
            return None
        return problem(421, "unknown-host", f"unknown host; this server is at {' or '.join(sorted(self._hosts))}")


def host_name(host: str) -> str:
    """Return the host of a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


class SecurityHeaders:
    """Adds missing security headers to each response, and forbids caches to store those of the API."""

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
    """Raise NotAllowed for a change that another site's page requests. Requests from programs pass."""
    if request.method not in SAFE_METHODS and _is_own(request, trusted) is False:
        raise NotAllowed("a page of another site is not allowed to request this")


def refuse_embedding(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for a request that another site's page sends without navigation. A followed link passes.

    Streams take up room even if the page cannot read them.
    """
    is_other = request.headers.get("sec-fetch-site") in OTHER_SITES and not _is_own(request, trusted)
    if is_other and request.headers.get("sec-fetch-mode") != "navigate":
        raise NotAllowed("a page of another site is not allowed to request this")


def require_own_site(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for a change unless the browser says that it comes from this site or a trusted one."""
    if request.method not in SAFE_METHODS and not _is_own(request, trusted):
        raise NotAllowed(
            "with a session cookie, a change must come from a page of this site (Sec-Fetch-Site or Origin)"
        )


def _is_own(request: Request, trusted: Collection[str]) -> bool | None:
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site == "same-origin":
        return True
    if origin is not None:
        return origin.lower() in trusted or origin.partition("://")[2] == request.headers.get("host")
    return None if site is None else False


def set_session_cookie(request: Request, response: Response, session: Session, seconds: int) -> None:
    """Set the cookies of the session and of the known browser."""
    _set_cookie(request, response, _session_cookie(request), session.secret, seconds)
    if session.browser is not None:
        _set_cookie(request, response, _cookie_name(request, BROWSER_COOKIE), session.browser, BROWSER_SECONDS)


def browser_name(request: Request) -> str | None:
    """Return the browser's name from its cookie, or None if no person has logged in with it."""
    return request.cookies.get(_cookie_name(request, BROWSER_COOKIE)) or None


def session_secret(request: Request) -> str | None:
    """Return the session's secret from the cookie, or None."""
    return request.cookies.get(_session_cookie(request)) or None


def has_login_cookie(request: Request) -> bool:
    """Return whether the browser has a session cookie, even of a session that has ended."""
    return session_secret(request) is not None


def forget_session(request: Request, response: Response) -> None:
    """Delete the session cookie."""
    if has_login_cookie(request):
        _set_cookie(request, response, _session_cookie(request), "", 0)


def _set_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=_is_secure(request), httponly=True, samesite="strict"
    )


def _session_cookie(request: Request) -> str:
    if not host_name(request.headers.get("host", "")).endswith(LOCAL_DOMAIN):
        return _cookie_name(request, SESSION_COOKIE)
    # Browsers send a cookie to all ports of a host, and servers with the same token share a host name.
    port = (request.scope.get("server") or ("", None))[1]
    return _cookie_name(request, f"{SESSION_COOKIE}-{port}")


def _cookie_name(request: Request, name: str) -> str:
    # A host-bound cookie is sent to all paths, so each pool mounted on the host has its own cookie name.
    mounted = UNNAMEABLE.sub("-", root_of(request.scope))
    return (SECURE_PREFIX if _is_secure(request) else "") + name + mounted


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def with_etag(request: Request, value: Any) -> Response:
    """Respond with the value and its ETag, or with 304 if the client has it already."""
    body = _json_adapter(value.__class__).dump_json(value)
    headers = {"ETag": etag_of(body), "Cache-Control": "no-cache"}
    if has_etag(request, headers["ETag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def etag_of(body: bytes) -> str:
    """Return the ETag of a response's body."""
    return f'"{sha256(body).hexdigest()[:32]}"'


def has_etag(request: Request, etag: str) -> bool:
    """Return whether the client has the response with this ETag."""
    known = request.headers.get("if-none-match", "")
    return known == "*" or etag in (each.strip().removeprefix("W/") for each in known.split(","))


@cache
def _json_adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
