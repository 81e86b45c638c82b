"""Enqueue the tasks of many stores and report the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Response

from rolecall import Enqueued, NewTask
from rolecall.web import Connections, Operates, refuses
from storecrawl.actions.new_tasks import Generated
from storecrawl.catalog import crawlable_stores

TRANSACTION = 1_000


ANSWERS = {200: {"model": Generated, "description": "All tasks already existed"}, **refuses(404)}


@dataclass(frozen=True, slots=True)
class Enqueues:
    """Enqueues tasks as the request's caller, in several transactions. Repeating it adds the missing ones."""

    services: Operates
    response: Response

    async def __call__(self, tasks: Sequence[NewTask]) -> Generated:
        """Enqueue the tasks. The response's status is 201, or 200 if none was new."""
        stored: list[Enqueued] = []
        for first in range(0, len(tasks), TRANSACTION):
            stored += await self.services.tasks.enqueue_many(tasks[first : first + TRANSACTION])
        generated = Generated.of(stored)
        self.response.status_code = 201 if generated.stored else 200
        return generated


# Before 0.122, FastAPI does not resolve the annotations of a class.
async def _enqueues(services: Operates, response: Response) -> Enqueues:
    return Enqueues(services, response)


Enqueuing = Annotated[Enqueues, Depends(_enqueues)]


async def crawlable_of_state(connects: Connections, state: str) -> Sequence[int]:
    """Return the stores of a state that may be crawled; the state's case is ignored."""
    async with connects() as connection:
        return await crawlable_stores(connection, state=state.upper())


async def pool_time(connects: Connections) -> datetime:
    """Return the time by which tasks become due, in UTC."""
    async with connects() as connection:
        row = await (await connection.execute("select rolecall.clock()")).fetchone()
    if row is None:
        raise LookupError("select returned no row")
    moment: datetime = row[0]
    return moment.astimezone(UTC)
