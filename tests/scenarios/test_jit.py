"""JIT compilation on Debian's Postgres with its default settings, where it is on: no statement of the product pays for it.

A compilation takes up to a second of CPU, and our statements take milliseconds. `pg_stat_statements` counts what is
compiled, nested statements included, so that no clock is involved. The product is behind PgBouncer here, where its
sessions cannot turn JIT off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict

import httpx2
import psycopg
import pytest

from rolecall import App, Client
from rolecall.cli.main import run
from rolecall.db.connect import connect
from rolecall.testing import Clock
from rolecall.testing.databases import TestServer, clone, template
from tests.dashboard.scenery import Scenery, furnish
from tests.servers import bouncing, found_servers
from tests.sql.engine import Engine
from tests.web.doors import unguarded
from tests.web.matrix import Entry, departures
from tests.web.test_matrix import TABLE
from tests.worker.bench import Bench
from tools.debian import cluster

STATISTICS = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all")
COMPILED = "select query from pg_stat_statements where jit_functions > 0 order by query"
ENDLESS = ("/api/live", "/wait", "/live")
COMMANDS = (
    ("tasks", "list"),
    ("tasks", "show", "1"),
    ("chains", "list"),
    ("roles", "list"),
    ("workers", "list"),
    ("schedules", "list"),
    ("capacity",),
    ("top", "--once"),
    ("doctor",),
)


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with cluster(found_servers(), settings=STATISTICS) as dsn:
        yield TestServer(dsn)


@pytest.fixture(scope="module")
def migrated(server: TestServer) -> Iterator[str]:
    with template(server) as name:
        yield name


@pytest.fixture
def database(server: TestServer, migrated: str) -> Iterator[str]:
    with clone(server, migrated) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create extension pg_stat_statements")
        yield dsn


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database, autocommit=True, options="-c jit=off") as connection:
        yield connection


@pytest.fixture
def pooled(database: str) -> Iterator[str]:
    with bouncing(database) as bouncer:
        yield bouncer.through(database)


@pytest.fixture
def scenery(connection: psycopg.Connection, database: str) -> Scenery:
    """Tasks in each state, in a pool with the partitions of a pool in use."""
    connection.execute("select rolecall.make_partitions()")
    scenery = furnish(Engine(connection, Clock(database), database))
    connection.execute("select pg_stat_statements_reset()")
    return scenery


def test_own_sessions_turn_jit_off(database: str) -> None:
    with connect(database, "test") as connection:
        assert connection.execute("show jit").fetchone() == ("off",)


def test_sessions_behind_a_pooler_leave_jit_unchanged(pooled: str) -> None:
    with connect(pooled, "test") as connection:
        assert connection.execute("show jit").fetchone() == ("on",)


@pytest.mark.timeout(300)
async def test_no_request_is_jit_compiled(connection: psycopg.Connection, pooled: str, scenery: Scenery) -> None:
    application = unguarded(pooled, App("test"))
    gets = [entry for entry in TABLE if entry.method == "GET"]
    paths = [path_of(entry, scenery) for entry in gets if not entry.path.endswith(ENDLESS)]
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://test") as client,
    ):
        for path in (*paths, *scenery.more()):
            assert (await client.get(path)).status_code != 500, path
        await departures(application, [entry for entry in TABLE if entry.method != "GET"], "admin", {})

    assert compiled(connection) == []


@pytest.mark.timeout(300)
def test_no_command_is_jit_compiled(connection: psycopg.Connection, pooled: str, scenery: Scenery) -> None:
    for words in COMMANDS:
        run([*words, "--database-url", pooled])

    assert compiled(connection) == []


@pytest.mark.timeout(300)
async def test_no_statement_of_a_worker_or_a_client_is_jit_compiled(
    connection: psycopg.Connection, pooled: str, scenery: Scenery
) -> None:
    bench = Bench(pooled, connection)

    @bench.app.task
    async def work(n: int) -> int:
        return n

    with Client(pooled, app=bench.app) as client:
        ids = [client.enqueue(work, {"n": n}, key=f"key:{n % 3}").id for n in range(50)]
        async with bench.working(maintenance=True):
            await bench.finished(*ids)
        client.cancel([scenery.task_id])
        client.wait(ids[0], timeout=5)

    assert compiled(connection) == []


def path_of(entry: Entry, scenery: Scenery) -> str:
    """The address of something that exists, as far as the scenery has it."""
    values = {"key_id": 1, "digest": "0" * 32, "role": scenery.name, **asdict(scenery)}
    return re.sub(r":\w+\}", "}", entry.path).format(**values)


def compiled(connection: psycopg.Connection) -> list[str]:
    """Statements of the product that were compiled."""
    return [query for (query,) in connection.execute(COMPILED)]
