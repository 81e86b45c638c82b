"""A local server with configurable responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from storecrawl.demo.upstream.local import _listener
from storecrawl.egress import Egress, EgressOptions


class Site:
    """A server's responses by path, and its requests."""

    def __init__(self) -> None:
        self.port = 0
        self.answers: dict[str, Response] = {}
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, request: Request) -> Response:
        self.requests.append(request)
        return self.answers.get(request.url.path, Response(status_code=404))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    app = Starlette(routes=[Route("/{path:path}", site.answer)])
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False))
    with _listener(0) as listener:
        site.port = listener.getsockname()[1]
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield site
        server.should_exit = True
        await serving


@pytest.fixture
async def egress() -> AsyncIterator[Egress]:
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(Egress(EgressOptions(host_rate=1000.0, store_rate=1000.0)))
