"""A real server on loopback in its own thread, so that plain tests can drive a browser."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

from fastapi import FastAPI

from rolecall.config import AccessSettings
from rolecall.web.server import Server

LONG = 30.0


@dataclass(frozen=True, slots=True)
class Site:
    """A server that answers on loopback."""

    address: str


class ThreadServer(Server):
    """A server without signal handlers, because signals belong to the main thread."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def serving(application: FastAPI) -> Iterator[Site]:
    """Serve an application during the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = ThreadServer(application, access=AccessSettings(forwarded_by=""))
    thread = Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield Site(f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join(LONG)
        assert not thread.is_alive(), "the server did not stop"
