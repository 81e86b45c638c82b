"""Marks places in handlers at which a test can kill a worker. Imports nothing else."""

from __future__ import annotations

import os

VARIABLE = "ROLECALL_FAILPOINT"


def die_here(place: str) -> None:
    """Mark a named place in a handler, at which a test can kill or stop the process.

        async def bill(ctx: Context, order: int) -> None:
            await charge(order, idempotency_key=ctx.idempotency_key)
            die_here("charged")
            await ctx.info({"charged": True})

    It has an effect only in workers started by `crash_worker` and `frozen_worker`. In a handler with `process=True`,
    the process is the handler's child process.
    """
    if VARIABLE in os.environ:
        from rolecall.config import failpoints  # noqa: PLC0415 - imports all settings, needed only in a worker

        failpoints.hit(f"{failpoints.HERE}{place}")
