"""A local upstream, a fast client, and servers with odd responses, for each test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest_asyncio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.platforms.dutchie import ClientOptions, UpstreamClient

SMALL_WORLD = UpstreamOptions(stores=12, seed=7, menu_median=120, menu_largest=400)
QUICK = ClientOptions(backoff=0.01, page_pause=0.0)

ClientFor = Callable[..., UpstreamClient]
Responder = Callable[[Request], Awaitable[Response]]
Serve = Callable[[Responder], Awaitable[str]]


@pytest_asyncio.fixture
async def upstream() -> AsyncIterator[LocalUpstream]:
    async with LocalUpstream(SMALL_WORLD) as running:
        yield running


@pytest_asyncio.fixture
async def client_for() -> AsyncIterator[ClientFor]:
    async with AsyncExitStack() as stack:
        clients: list[UpstreamClient] = []

        def make(url: str, options: ClientOptions = QUICK) -> UpstreamClient:
            clients.append(UpstreamClient(url, options=options))
            stack.push_async_callback(clients[-1].close)
            return clients[-1]

        yield make


@pytest_asyncio.fixture
async def client(upstream: LocalUpstream, client_for: ClientFor) -> UpstreamClient:
    return client_for(upstream.url)


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Serve]:
    async with AsyncExitStack() as stack:

        async def start(respond: Responder) -> str:
            app = Starlette(routes=[Route("/{path:path}", respond, methods=["GET", "POST"])])
            return await stack.enter_async_context(serving_app(app))

        yield start


@asynccontextmanager
async def serving_app(app: Starlette) -> AsyncIterator[str]:
    config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join)
        listener.close()
