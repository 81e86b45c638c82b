"""Places at which a test can have a worker die; whoever marks one in a handler imports nothing else for it."""

from __future__ import annotations

from enum import StrEnum

from rolecall.config import failpoints

__all__ = ["Place", "die_here"]


class Place(StrEnum):
    """Where a worker can be made to die, between the parts of its work; `die_here` marks others, in handlers.

    BEFORE_HANDLER: the task is claimed, its handler not called. BEFORE_COMPLETION: the handler has returned, and
    nothing of that is stored. AFTER_COMPLETION: its outcome is stored, by the worker or by a transaction of its own,
    and the worker has done nothing after that.
    """

    BEFORE_HANDLER = failpoints.AFTER_CLAIM
    BEFORE_COMPLETION = failpoints.BEFORE_FINISH
    AFTER_COMPLETION = failpoints.AFTER_FINISH


def die_here(place: str) -> None:
    """Mark a place in a handler at which a test may kill the process, or have it stand still, by this name.

        async def bill(ctx: Context, order: int) -> None:
            await charge(order, idempotency_key=ctx.idempotency_key)
            die_here("charged")
            await ctx.info({"charged": True})

    `crash_worker` and `frozen_worker` start a worker in which it does; anywhere else it does nothing. In a handler with
    `process=True` it is the handler's process.
    """
    if failpoints.ARMED:
        failpoints.hit(f"{failpoints.HERE}{place}")
