"""A connection attempt that is cancelled before the server accepts it."""

from __future__ import annotations

import asyncio

from rolecall.db.connect import connect_async
from tests.db.shop import Connection
from tests.scenarios.chaos.proxy import Proxy
from tests.worker.bench import until

# The last message of a client before the server accepts it.
LAST_WORD = b"c=biws"
BACKENDS = "select count(*) from pg_stat_activity where application_name = 'rolecall:half open'"


async def test_cancelled_connection_attempt_leaves_no_backend(database: str, connection: Connection) -> None:
    def backends() -> int:
        ((number,),) = connection.execute(BACKENDS)
        return int(number)

    with Proxy(database).relaying() as way:
        way.hold_the_answer_to(LAST_WORD)
        opening = asyncio.create_task(connect_async(way.dsn, "half open"))
        await until(lambda: backends() == 1)

        opening.cancel()

        # The stored traceback keeps everything alive that it references.
        await asyncio.wait({opening})
        await until(lambda: backends() == 0)
        assert opening.cancelled()
