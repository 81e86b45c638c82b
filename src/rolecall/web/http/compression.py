"""Compression of responses, except for streams: compressed, their parts would be held back."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Takes half the time of the highest level, for pages that are 3 % longer.
LEVEL = 5
ENCODING = "Content-Encoding"
UNCOMPRESSED = "identity"


class Compression:
    """Compresses responses with one part. GZipMiddleware passes responses with an encoding on, so streams get one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressing = GZipMiddleware(self._marked, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unmarked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get(ENCODING) == UNCOMPRESSED:
                    del headers[ENCODING]
            await send(message)

        await self._compressing(scope, receive, send_unmarked)

    async def _marked(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message | None = None

        async def send_marked(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                if message.get("more_body"):
                    MutableHeaders(scope=start).setdefault(ENCODING, UNCOMPRESSED)
                await send(start)
                start = None
            await send(message)

        await self._app(scope, receive, send_marked if scope["type"] == "http" else send)


def install_compression(application: FastAPI) -> None:
    """Compress the responses of an application for clients that accept it."""
    application.add_middleware(Compression)
