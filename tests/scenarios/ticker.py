"""A process that fires schedules like the maintenance of a worker: `python -m tests.scenarios.ticker DSN`.

Each tick has its own connection and reads the database's clock, which a test may move.
"""

from __future__ import annotations

import asyncio
import sys

from rolecall.maintenance import duties
from rolecall.worker.loop import run
from rolecall.worker.session import DatabaseSessions

PAUSE = 0.01


async def main(dsn: str) -> None:
    sessions = DatabaseSessions(dsn, deadline=20)
    while True:
        session = sessions.open("tick")
        try:
            await duties.fire(session)
        finally:
            await session.close()
        await asyncio.sleep(PAUSE)


if __name__ == "__main__":
    run(main(sys.argv[1]))
