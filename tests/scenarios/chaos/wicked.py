"""Handlers that hang, kill their process or repeat their transaction."""

from __future__ import annotations

import asyncio
import os

import psycopg

from rolecall import App, Context, DatabaseUnavailable
from tests.scenarios.chaos.ledger import Ledger, has_started, pay

MOST_TRIES = 20
BETWEEN_TRIES = 0.1


def add_handlers(app: App, role: str, ledger: Ledger) -> None:
    @app.task(role=role, max_attempts=2, timeout=1)
    async def hang(ctx: Context) -> None:
        ledger.begin(ctx)
        await asyncio.sleep(60)

    @app.task(role=role, max_attempts=2)
    async def poison(ctx: Context, number: int) -> None:
        run = ledger.begin(ctx)
        # A crash counts as an attempt only if the engine has recorded the start of the handler.
        while not (known := await has_started(ctx)):
            if known is None:
                return
            await asyncio.sleep(0.01)
        ledger.start(run)
        os.kill(os.getpid(), number)

    @app.task(role=role)
    async def insist(ctx: Context, times: int) -> None:
        """Repeat the transaction until it is answered `times` times, like a handler that missed the answer."""
        run = ledger.begin(ctx)
        for _ in range(MOST_TRIES):
            try:
                async with ctx.transaction() as tx:
                    await pay(tx, ctx)
                    ledger.end(run)
                    await ctx.complete(tx, {"fence": ctx.fence})
            except (psycopg.OperationalError, DatabaseUnavailable):
                await asyncio.sleep(BETWEEN_TRIES)
            else:
                times -= 1
                if not times:
                    return
        raise DatabaseUnavailable("it does not answer")
