"""A dispatcher for tests, and waits for conditions in Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic

from rolecall.config import Settings
from rolecall.config.handoff import HandoffSettings
from rolecall.db.connect import connect_async
from rolecall.model.audit import Actor
from rolecall.service.database import OneConnection
from rolecall.service.dispatching import dispatcher_of
from rolecall.service.services import Services
from rolecall.transport.brokers import RedisLink
from tests.worker.bench import PATIENCE, Bench

# Workers with the handoff do not poll Postgres within this time.
LONG = 60.0


@asynccontextmanager
async def dispatching(dsn: str, handoff: HandoffSettings) -> AsyncIterator[asyncio.Task[None]]:
    """Run a dispatcher during the block."""
    dispatcher = dispatcher_of(dsn, Settings(handoff=handoff))
    assert dispatcher is not None
    running = asyncio.create_task(dispatcher.run())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.wait({running})


async def comes_true(fact: Callable[[], Awaitable[object]], within: float = PATIENCE) -> None:
    """Wait until the condition in Redis is true."""
    deadline = monotonic() + within
    while not await fact():
        assert monotonic() < deadline, f"did not happen within {within:g} s"
        await asyncio.sleep(0.01)


async def doctors_words(dsn: str, settings: HandoffSettings) -> str:
    """Return the doctor's findings about the handoff."""
    async with await connect_async(dsn, "test") as connection:
        services = Services(OneConnection(connection, Actor(name="test", via="cli")), Settings(handoff=settings))
        diagnosis = await services.doctor.examine(listening=False)
    return "; ".join(finding.problem for finding in diagnosis.findings if finding.check == "handoff")


def one_redis(url: str) -> HandoffSettings:
    """Both bands on one server."""
    return HandoffSettings(low=url, high=url)


@asynccontextmanager
async def by_handoff(bench: Bench, link: RedisLink, url: str, **options: object) -> AsyncIterator[asyncio.Task[None]]:
    """Run a dispatcher and a worker that uses it. Yield the dispatcher."""
    settings = one_redis(url)
    async with dispatching(bench.dsn, settings) as dispatcher:
        await comes_true(lambda: link.call("GET", "rolecall:leader"))
        async with bench.working(**({"roles": ("mail",), "poll_interval": LONG, "handoff": settings} | options)):
            await comes_true(lambda: link.call("HLEN", "rolecall:workers"))
            yield dispatcher
