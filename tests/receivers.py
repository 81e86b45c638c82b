"""A receiver of webhooks on the loopback interface."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


@dataclass
class Receiver:
    """A webhook. It answers with the given statuses first, then with 204."""

    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: Request) -> Response:
        self.posts.append((dict(request.headers), await request.body()))
        if not self.statuses:
            return Response(status_code=204)
        return Response("not now", self.statuses.pop(0), self.headers)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Run a receiver during the block."""
    receiver = Receiver()
    application = Starlette(routes=[Route("/hook", receiver.answer, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    receiver.url = f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
    yield receiver
    server.should_exit = True
    await serving
