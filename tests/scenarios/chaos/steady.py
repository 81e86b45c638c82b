"""Handlers of a role whose lease outlasts every fault: nobody may begin beside a run of theirs, whatever happens."""

from __future__ import annotations

import asyncio

from rolecall import App, Context
from tests.scenarios.chaos.ledger import Ledger

ROLE = "steady"
LEASE = 10.0
# A run that is no older than this has its lease, unless its process was stopped meanwhile.
SURE_SECONDS = 3.0
RUN_SECONDS = 0.15
HANDLERS = ("hold", "once")
NEVER_AGAIN = ("once",)
# How many of a key run at once.
CAPACITIES = {"lone": 1, "pair": 2}


def add_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def hold(ctx: Context) -> dict[str, int]:
        """Hold a key for a moment."""
        return await _run(ctx)

    @app.task(role=ROLE, max_attempts=1)
    async def once(ctx: Context) -> dict[str, int]:
        """Run, and never again."""
        return await _run(ctx)

    async def _run(ctx: Context) -> dict[str, int]:
        run = ledger.begin(ctx)
        try:
            await asyncio.sleep(RUN_SECONDS)
        finally:
            ledger.end(run)
        return {"fence": ctx.fence}
