"""A real server on loopback in its own thread, so that plain tests can drive a browser."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from fastapi import FastAPI

from rolecall.config import AccessSettings
from rolecall.web.server import Server

LONG = 30.0


@dataclass(frozen=True, slots=True)
class Site:
    """A server that answers on loopback."""

    address: str


@dataclass(frozen=True, slots=True)
class ThreadSite(Site):
    """A server that runs in a thread of the test's process."""

    loop: asyncio.AbstractEventLoop

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Block the server during the block: it accepts connections, and sends nothing."""
        ended = Event()
        self.loop.call_soon_threadsafe(ended.wait)
        try:
            yield
        finally:
            ended.set()


class ThreadServer(Server):
    """A server without signal handlers, because signals belong to the main thread."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def serving(application: FastAPI) -> Iterator[ThreadSite]:
    """Serve an application during the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = ThreadServer(application, access=AccessSettings(forwarded_by=""))
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_until_complete, args=[server.serve(sockets=[listener])])
    thread.start()
    try:
        yield ThreadSite(f"http://127.0.0.1:{listener.getsockname()[1]}", loop)
    finally:
        server.should_exit = True
        thread.join(LONG)
        assert not thread.is_alive(), "the server did not stop"
        loop.close()
