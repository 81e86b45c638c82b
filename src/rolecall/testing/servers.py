"""The Postgres that tests run on: one that is given, or an embedded one that is thrown away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolecall.db.embedded.server import EmbeddedServer
from rolecall.db.embedded.start import ServerOptions
from rolecall.testing import memory
from rolecall.testing.databases import TestServer

__all__ = ["given_or_embedded"]

VARIABLE = "ROLECALL_TEST_SERVER"
# Nothing in it is worth waiting for a disk, nor much memory.
THROW_AWAY = ServerOptions(extra={"fsync": "off", "max_wal_size": "256MB", "max_prepared_transactions": "20"})


@contextmanager
def given_or_embedded(folder: Path) -> Iterator[TestServer]:
    """Yield the server that ROLECALL_TEST_SERVER names, else an embedded one, in memory or else in the folder."""
    if given := os.environ.get(VARIABLE):
        yield TestServer(given)
        return
    in_memory = memory.room()
    with EmbeddedServer(in_memory or folder, options=THROW_AWAY) as server:
        yield TestServer(server.superuser_dsn(tcp=True), in_memory=in_memory is not None)
