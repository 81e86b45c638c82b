"""A handler that runs longer than its worker's connections are refused, with a lease that is longer than both."""

from __future__ import annotations

import asyncio

from rolecall import App, Context
from tests.scenarios.chaos.ledger import Ledger

ROLE = "severed"
LEASE = 60.0
REFUSED_SECONDS = 30.0
# It starts before the connections are refused and ends meanwhile: its outcome waits for the database.
RUN_SECONDS = REFUSED_SECONDS - 2.0


def add_handlers(app: App, ledger: Ledger) -> None:
    app.role(ROLE, lease=LEASE, timeout=300, max_attempts=30)

    @app.task(role=ROLE)
    async def endure(ctx: Context) -> dict[str, int]:
        """Run for long enough to be cut off meanwhile."""
        run = ledger.begin(ctx)
        await asyncio.sleep(RUN_SECONDS)
        ledger.end(run)
        return {"fence": ctx.fence}
