"""Two pools on one Redis: separated by prefixes; without them the second one logs the conflict and polls."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import psycopg
import pytest

from rolecall import NewTask
from rolecall.handoff.roll import LeaderInfo, pool_of
from rolecall.testing import TestServer, clone
from rolecall.transport.brokers import RedisLink, connect_redis
from rolecall.worker.session import DatabaseSessions
from tests.brokers import Broker
from tests.handoff.house import by_handoff, dispatching, doctors_words, one_redis
from tests.logins import login
from tests.worker.bench import Bench, until

HANDED = "Tasks are dispatched through Redis"
MIXED = "Another Rolecall database dispatches through the same Redis"


@pytest.fixture
def other(postgres_server: TestServer, database_template: str) -> Iterator[Bench]:
    """A second pool next to the bench."""
    with (
        clone(postgres_server, database_template) as dsn,
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        yield Bench(dsn, connection)


def send(bench: Bench) -> list[int]:
    """Store a task that does nothing."""
    if "send" not in bench.app.handlers:

        @bench.app.task(role="mail")
        async def send() -> None: ...

    return bench.enqueue(NewTask(handler="send"))


async def test_prefix_separates_two_pools(
    bench: Bench, other: Bench, server: Broker, link: RedisLink, caplog: pytest.LogCaptureFixture
) -> None:
    send(bench), send(other)
    url = f"{server.url}/0?prefix=shop"
    shop = connect_redis(url)
    with caplog.at_level(logging.INFO):
        async with by_handoff(bench, link, server.url), by_handoff(other, shop, url):
            await until(lambda: caplog.text.count(HANDED) == 2)
            await bench.finished(*send(bench))
            await other.finished(*send(other))
    await shop.close()
    assert MIXED not in caplog.text


async def test_second_pool_without_a_prefix_polls_and_logs_the_reason(
    bench: Bench, other: Bench, server: Broker, link: RedisLink, caplog: pytest.LogCaptureFixture
) -> None:
    send(bench), send(other)
    settings = one_redis(server.url)
    with caplog.at_level(logging.INFO):
        async with by_handoff(bench, link, server.url), dispatching(other.dsn, settings):
            async with other.working(roles=("mail",), handoff=settings):
                await until(lambda: caplog.text.count(MIXED) == 2)
                await other.finished(*send(other), within=10)
                await bench.finished(*send(bench))
            assert MIXED in await doctors_words(other.dsn, settings)
            assert MIXED not in await doctors_words(bench.dsn, settings)
    assert caplog.text.count(HANDED) == 1


async def test_login_that_cannot_read_the_pool_identity_suspects_no_other_pool(bench: Bench) -> None:
    bench.connection.execute("revoke execute on function pg_control_system() from public")
    with login(bench.dsn) as dsn:
        session = DatabaseSessions(dsn, deadline=5).open("test")
        pool = await pool_of(session)
        await session.close()

    assert not LeaderInfo("one", "streams", "7.16384").leads_for_another(pool)
