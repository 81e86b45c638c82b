"""A worker and a client on Debian's Postgres with its default settings."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from rolecall import Client, Context
from rolecall.db.connect import connect
from rolecall.testing.databases import TestServer, clone, template
from tests.worker.bench import Bench


@pytest.fixture
def debian_bench(debian_postgres: str) -> Iterator[Bench]:
    server = TestServer(debian_postgres)
    with template(server) as name, clone(server, name) as dsn, connect(dsn, "bench") as connection:
        yield Bench(dsn, connection)


async def test_enqueued_tasks_run_on_debians_postgres_server(debian_bench: Bench) -> None:
    bench = debian_bench
    with psycopg.connect(bench.dsn) as plain:
        assert plain.execute("select pg_jit_available() and current_setting('jit')::boolean").fetchone() == (True,)

    @bench.app.task
    async def work(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx, n)

    with Client(bench.dsn, app=bench.app) as client:
        ids = [client.enqueue(work, {"n": n}, key="one").id for n in range(20)]
        async with bench.working(maintenance=True):
            tasks = await bench.finished(*ids)

    assert [task.result for task in tasks] == list(range(20))
