"""The first discovery of a world, made once for all tests that begin with its result."""

from __future__ import annotations

import asyncio
import random
import shutil
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from storecrawl.migrations import MIGRATIONS

from rolecall.db.migrations import ROLECALL
from rolecall.testing import TestServer
from rolecall.testing.databases import clone, template

# Other programs do not get these for their outgoing connections.
QUIET_PORTS = range(20_000, 30_000)
Connection = psycopg.Connection[Any]
Discover = Callable[[str, Connection], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Discovered:
    """A database to clone, and the folder with its files."""

    template: str
    folder: Path

    @contextmanager
    def copied(self, server: TestServer, folder: Path) -> Iterator[tuple[str, Connection]]:
        """Copy the files to a folder, and the database for the duration of the block."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        with (
            clone(server, self.template) as database,
            psycopg.connect(database, autocommit=True) as connection,
        ):
            yield database, connection


@contextmanager
def discovering(server: TestServer, folder: Path, discover: Discover) -> Iterator[Discovered]:
    """Run a discovery in a new database, with its files in this folder."""
    with template(server, (ROLECALL, MIGRATIONS)) as name:
        database = server.dsn(name)
        with psycopg.connect(database, autocommit=True) as connection:
            asyncio.run(_run(discover(database, connection)))
        yield Discovered(name, folder)


async def _run(discovery: Awaitable[None]) -> None:
    await discovery


def quiet_port() -> int:
    """Return a free port for an upstream that several tests start one after the other."""
    for port in random.sample(QUIET_PORTS, len(QUIET_PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
