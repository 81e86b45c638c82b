"""Run the local upstream in a thread of this process, with its own event loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import uvicorn

from storecrawl.demo.upstream.answers import Answer
from storecrawl.demo.upstream.app import UpstreamServer
from storecrawl.demo.upstream.faults import FaultDial
from storecrawl.demo.upstream.options import UpstreamOptions

HOST = "127.0.0.1"
READY_POLL_SECONDS = 0.005
STOP_SECONDS = 1


class LocalUpstream:
    """The local upstream as a context manager; listens on 127.0.0.1.

        async with LocalUpstream(UpstreamOptions(stores=5)) as upstream:
            client = UpstreamClient(upstream.url)

    Entering raises OSError if the port is taken.
    """

    def __init__(self, options: UpstreamOptions | None = None) -> None:
        self.options = options or UpstreamOptions()
        self.url = ""
        self._server = UpstreamServer(self.options)
        self._web = uvicorn.Server(
            uvicorn.Config(
                self._server.app,
                lifespan="off",
                log_config=None,
                access_log=False,
                # Incomplete responses are intended; uvicorn would log each as a crash.
                log_level="critical",
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        self._thread: threading.Thread | None = None

    async def __aenter__(self) -> Self:
        listener = _listener(self.options.port)
        self.url = f"http://{HOST}:{listener.getsockname()[1]}"
        self._server.world.show_images_at(f"{self.url}/images")
        self._thread = threading.Thread(target=self._serve, args=(listener,), name="local-upstream", daemon=True)
        self._thread.start()
        while not self._web.started:
            if not self._thread.is_alive():
                raise RuntimeError("the local upstream did not start")
            await asyncio.sleep(READY_POLL_SECONDS)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._web.should_exit = True
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def advance(self, steps: int = 1) -> int:
        return self._server.advance(steps)

    def set_failures(self, dial: FaultDial) -> None:
        self._server.faults.dial = dial

    def wall_off(self, *store_ids: str) -> None:
        """Return 403 for all requests about these stores from now on."""
        self._server.forbidden_stores = frozenset(store_ids)

    def rewrite(self, change: Callable[[Answer], Answer]) -> None:
        """Change every true answer with data from now on, for example to rename a field."""
        self._server.rewrite = change

    def forget_queries(self) -> None:
        """Forget all persisted-query hashes, like an upstream that rotates them."""
        self._server.forget_queries()

    def stats(self) -> dict[str, Any]:
        return self._server.stats()

    def _serve(self, listener: socket.socket) -> None:
        with listener:
            self._web.run(sockets=[listener])


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener
