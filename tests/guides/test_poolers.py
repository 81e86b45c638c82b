"""The guide `poolers` works through a real PgBouncer, and in a transaction that is prepared."""

from __future__ import annotations

import asyncio

from rolecall.db.run import run
from rolecall.sql import tasks
from tests.guides.reading import module_of
from tests.servers import Bouncer
from tests.sql.engine import Connection
from tests.worker.bench import LISTENING, until


async def test_notification_sent_through_the_pooler_arrives_over_a_direct_connection(
    database: str, connection: Connection, pgbouncer: Bouncer
) -> None:
    guide, through = module_of("poolers"), pgbouncer.through(database)
    worker = guide.worker(through, database)
    working = asyncio.create_task(worker.run())
    await until(lambda: connection.execute(LISTENING).fetchone() == (1,))

    task_id = await asyncio.to_thread(guide.send, through, "Ada")

    await until(lambda: run(connection, tasks.get(task_id)).result == "hello Ada")
    worker.stop()
    await working


def test_prepared_order_is_enqueued_even_with_an_idle_worker(database: str, connection: Connection) -> None:
    guide = module_of("poolers")
    guide.send(database, "Ada")
    connection.execute(
        "select rolecall.mark_idle(rolecall.register_worker('w', '{}', '{greet}', 1, 'host', 1, '0'), true)"
    )

    guide.order(database, "Bob", 7)

    assert connection.execute("select payload ->> 'name' from rolecall.all_tasks order by id").fetchall() == [
        ("Ada",),
        ("Bob",),
    ]
