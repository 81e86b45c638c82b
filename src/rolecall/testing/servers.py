"""The Postgres for tests: the configured one, or a temporary embedded one."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from rolecall.app import App
from rolecall.db.migrations import ROLECALL
from rolecall.embedded.server import EmbeddedServer
from rolecall.embedded.start import ServerOptions
from rolecall.testing import memory
from rolecall.testing.databases import TestServer, template
from rolecall.testing.guard import guard_server

VARIABLE = "ROLECALL_TEST_SERVER"
# Its data needs neither durability nor much memory.
THROW_AWAY = ServerOptions(extra={"fsync": "off", "max_wal_size": "256MB", "max_prepared_transactions": "20"})


@contextmanager
def configured_or_embedded(folder: Path) -> Iterator[TestServer]:
    """Yield the server of ROLECALL_TEST_SERVER, or an embedded one in memory or in the folder."""
    if url := os.environ.get(VARIABLE):
        yield TestServer(url)
        return
    in_memory = memory.room()
    home = in_memory or folder
    with guard_server(home), EmbeddedServer(home, options=THROW_AWAY) as server:
        yield TestServer(server.superuser_dsn(tcp=True), in_memory=in_memory is not None)


@cache
def of_this_process() -> TestServer:
    """Start a server for all tests of this process, which runs until `close`."""
    atexit.register(close)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        UNTIL_CLOSED.callback(memory.forget)
    folder = UNTIL_CLOSED.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
    return UNTIL_CLOSED.enter_context(configured_or_embedded(Path(folder) / "postgres"))


def template_of_this_process(app: App | None) -> str:
    """Return the name of the template database for this app in this process."""
    packages = (ROLECALL, *(app.migrations if app else ()))
    names = tuple(package.name for package in packages)
    if names not in TEMPLATES:
        TEMPLATES[names] = UNTIL_CLOSED.enter_context(template(of_this_process(), packages))
    return TEMPLATES[names]


def close() -> None:
    """Stop this process's server, if there is one. Called at the end of the process."""
    UNTIL_CLOSED.close()


UNTIL_CLOSED = ExitStack()
TEMPLATES: dict[tuple[str, ...], str] = {}
