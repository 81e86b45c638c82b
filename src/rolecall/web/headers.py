"""The headers of every answer, whatever made it: what a browser may do with it is next to nothing.

A route that needs more, such as a page with scripts of its own, sets the header itself.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolecall.web.paths import API, path_below

__all__ = ["SecurityHeaders"]

HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class SecurityHeaders:
    """Adds what is missing to each answer; what the API tells is not kept by anybody on its way."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        private = path_below(scope).startswith(API)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _complete(MutableHeaders(scope=message), private=private)
            await send(message)

        await self._application(scope, receive, send_with_headers)


def _complete(headers: MutableHeaders, *, private: bool) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if private:
        headers.setdefault("cache-control", "no-store")
