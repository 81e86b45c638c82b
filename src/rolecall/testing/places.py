"""Marks places in handlers at which a test can have a worker die; whoever marks one imports nothing else for it."""

from __future__ import annotations

import os

__all__ = ["die_here"]

VARIABLE = "ROLECALL_FAILPOINT"


def die_here(place: str) -> None:
    """Mark a place in a handler at which a test may kill the process, or have it stand still, by this name.

        async def bill(ctx: Context, order: int) -> None:
            await charge(order, idempotency_key=ctx.idempotency_key)
            die_here("charged")
            await ctx.info({"charged": True})

    `crash_worker` and `frozen_worker` start a worker in which it does; anywhere else it does nothing. In a handler with
    `process=True` it is the handler's process.
    """
    if VARIABLE in os.environ:
        from rolecall.config import failpoints  # noqa: PLC0415 - it brings all settings along, to be read by a worker

        failpoints.hit(f"{failpoints.HERE}{place}")
