"""Turns on durability in the tests' server, which otherwise does not wait for the disk."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic, sleep

import psycopg
import pytest

from rolecall.testing import TestServer

ONE_AT_A_TIME = 7246926


@pytest.fixture
def durable(postgres_server: TestServer) -> Iterator[None]:
    """Make the server wait for the disk during a test. The processes of a run share it, so they take turns."""
    with psycopg.connect(postgres_server.dsn("postgres"), autocommit=True) as administrator:
        administrator.execute("select pg_advisory_lock(%s)", [ONE_AT_A_TIME])
        administrator.execute("alter system set fsync = on")
        administrator.execute("select pg_reload_conf()")
        deadline = monotonic() + 40
        while administrator.execute("show fsync").fetchone() != ("on",):
            assert monotonic() < deadline
            sleep(0.01)
        yield
        administrator.execute("alter system reset fsync")
        administrator.execute("select pg_reload_conf()")
