"""A program whose worker is killed."""

from __future__ import annotations

import os

import psycopg

from rolecall import App, Context, linear
from rolecall.testing import die_here

app = App("crashes")
at_once = linear(step=0.1)


@app.task(max_attempts=3, retry=at_once)
def charge(ctx: Context, order: int) -> str:
    """Record an effect outside of the task, by its idempotency key."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as ledger:
        ledger.execute("insert into charges values (%s, %s)", [order, ctx.idempotency_key])
    die_here("charged")
    return f"charged {order}"


@app.task(max_attempts=3, retry=at_once)
async def book(ctx: Context, order: int) -> None:
    """Record an effect in the completing transaction."""
    async with ctx.transaction() as tx:
        await tx.execute("insert into charges values (%s, %s)", [order, ctx.idempotency_key])
        die_here("booked")
        await ctx.complete(tx, f"booked {order}")
