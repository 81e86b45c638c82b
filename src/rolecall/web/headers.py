"""The headers of every answer, whatever made it: what a browser may do with it is next to nothing.

A route that needs more, such as a page with scripts of its own, sets the header itself.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.web.hosts import LOCAL_NAMES, name_of
from rolecall.web.paths import API, path_below

__all__ = ["SecurityHeaders"]

HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


# For a year, from an answer over https on. Loopback has no name of its own to promise that for.
SECURE = ("strict-transport-security", "max-age=31536000")


class SecurityHeaders:
    """Adds what is missing to each answer; what the API tells is not kept by anybody on its way."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        private = path_below(scope).startswith(API)
        secure = scope.get("scheme") == "https" and name_of(Headers(scope=scope).get("host", "")) not in LOCAL_NAMES

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _complete(MutableHeaders(scope=message), private=private, secure=secure)
            await send(message)

        await self._application(scope, receive, send_with_headers)


def _complete(headers: MutableHeaders, *, private: bool, secure: bool) -> None:
    for name, value in (*HEADERS.items(), *([SECURE] if secure else [])):
        headers.setdefault(name, value)
    if private:
        headers.setdefault("cache-control", "no-store")
