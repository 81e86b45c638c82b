"""A worker's small HTTP server, for health probes and metrics. It runs in threads outside of the worker's event loop.

At most `MOST_CONNECTIONS` are open, and each for `PATIENCE` seconds. If there are more, the oldest is closed, so that
clients that hold connections open do not keep probes out.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from rolecall.config.setting import Setting
from rolecall.model.errors import ConfigError

MOST_CONNECTIONS = 32
PATIENCE = 5.0
# How often open connections are compared with their time limit.
EVERY = 0.1

# Maps an Accept header to a status, a body and its content type.
Page = Callable[[str], tuple[HTTPStatus, bytes, str]]

log = logging.getLogger("rolecall.cli")


@contextmanager
def serving_pages(address: tuple[str, int], pages: Mapping[str, Page], setting: Setting[Any]) -> Iterator[str]:
    """Serve pages by their paths until the block ends. Yields the address, with the port that was chosen for 0.

    Raises ConfigError, which names the setting of the address, if the address cannot be bound.
    """
    host, port = address
    try:
        server = _Server(host, port, pages)
    except OSError as error:
        address_text = f"{host}:{port}"
        problem = f"cannot listen on {address_text}: {error.strerror}"
        raise ConfigError(problem, variable=setting.name, value=address_text) from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": EVERY}, name="rolecall-pages")
    thread.start()
    try:
        yield f"[{host}]:{server.server_port}" if ":" in host else f"{host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, host: str, port: int, pages: Mapping[str, Page]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.pages = pages
        # The time of each connection's start; the oldest comes first.
        self._open: dict[Any, float] = {}
        self._changed = threading.Condition()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind without the lookup of the host name in HTTPServer, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_port = self.socket.getsockname()[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread. If all are in use, close the oldest connection and wait until its thread ends."""
        with self._changed:
            if len(self._open) >= MOST_CONNECTIONS:
                _cut(next(iter(self._open)))
                self._changed.wait_for(lambda: len(self._open) < MOST_CONNECTIONS)
            self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._open.pop(request, None)
            self._changed.notify_all()

    def service_actions(self) -> None:
        """Close connections that have been open for too long."""
        with self._changed:
            for request, started in self._open.items():
                if time.monotonic() - started > PATIENCE:
                    _cut(request)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the name is the library's
        """Log an error of one request. A client that closes its connection early is no problem of the worker."""
        is_client_gone = isinstance(sys.exc_info()[1], ConnectionError | TimeoutError)
        log.log(logging.DEBUG if is_client_gone else logging.WARNING, "A probe failed", exc_info=True)


def _cut(connection: socket.socket) -> None:
    # The thread that serves the connection then reads its end, and closes it.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "rolecall"
    sys_version = ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, b'{"status": "not found"}', "application/json")
        else:
            self._answer(*page(self.headers.get("Accept", "")))

    do_HEAD = do_GET  # noqa: N815 - as above

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
        log.debug(format, *args)

    def _answer(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
