"""Cost limits of queries of a service."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall.db.pools import async_pool
from rolecall.model.audit import Actor
from rolecall.model.errors import DatabaseUnavailable
from rolecall.service.database import PooledDatabase
from rolecall.sql.statement import Statement, ignore_rows, single
from tests.servers import Bouncer

SLEEP: Statement[None] = Statement(query="select pg_sleep(60)", read=ignore_rows)
TIMEOUT: Statement[str] = Statement(query="show statement_timeout", read=single)
SLEEPERS = "select count(*) from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()"


@pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])
async def test_slow_query_is_cancelled_on_the_server_and_leaves_no_setting_behind(
    database: str, pgbouncer: Bouncer, connection: psycopg.Connection[Any], pooled: bool
) -> None:
    async with async_pool(pgbouncer.through(database) if pooled else database, "test") as pool:
        asking = PooledDatabase(pool, Actor(name="ada", via="api"), longest_read=0.2)

        with pytest.raises(DatabaseUnavailable, match="no response within 0.2 s"):
            await asking.run(SLEEP)

        assert connection.execute(SLEEPERS).fetchone() == (0,)
        assert await asking.run(TIMEOUT) == "0"
