"""The middleware that turns what the upstream and the egress say into what becomes of a task."""

from __future__ import annotations

from random import Random
from typing import Any

from rolecall import Context, Next, PermanentFailure, Retry, Snooze
from storecrawl.egress import HeldBack
from storecrawl.upstream import UpstreamFailure

LEAST_SECONDS = 1.0
SPREAD = 0.25


class HoldingBack:
    """Snoozes a task whose request was held back: nothing was sent, so no attempt is spent.

    One that failed is tried again no sooner than the upstream asked for, and not at all where that would not help.
    """

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()

    async def __call__(self, ctx: Context, call_next: Next) -> Any:
        """Call the handler; the task's info says what it was held back by."""
        try:
            return await call_next()
        except HeldBack as held:
            await ctx.info({"held_back": str(held)})
            # All that were held back at once should not come back at once.
            return Snooze(max(held.seconds, LEAST_SECONDS) * self._random.uniform(1.0, 1.0 + SPREAD))
        except UpstreamFailure as failure:
            if not failure.retryable:
                raise PermanentFailure(str(failure)) from failure
            if not failure.retry_after:
                raise
            raise Retry(after=failure.retry_after) from failure
