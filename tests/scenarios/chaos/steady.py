"""Handlers of a role whose lease outlasts every fault: their tasks must never run twice at the same time."""

from __future__ import annotations

import asyncio

from rolecall import App, Context
from tests.scenarios.chaos.ledger import Ledger

ROLE = "steady"
LEASE = 10.0
# A run of at most this age has its lease, unless its process was stopped meanwhile.
SURE_SECONDS = 3.0
RUN_SECONDS = 0.15
HANDLERS = ("hold", "once")
NEVER_AGAIN = ("once",)
# The capacity of the keys.
CAPACITIES = {"lone": 1, "pair": 2}


def add_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def hold(ctx: Context) -> dict[str, int]:
        """Hold a key for a moment."""
        return await _run(ctx)

    @app.task(role=ROLE, max_attempts=1)
    async def once(ctx: Context) -> dict[str, int]:
        """Run once only."""
        return await _run(ctx)

    async def _run(ctx: Context) -> dict[str, int]:
        run = ledger.begin(ctx)
        try:
            await asyncio.sleep(RUN_SECONDS)
        finally:
            ledger.end(run)
        return {"fence": ctx.fence}
