"""The middleware that turns what upstream, egress and database say into what becomes of a task."""

from __future__ import annotations

from random import Random
from typing import Any

import psycopg

from rolecall import Context, DatabaseUnavailable, Next, PermanentFailure, Retry, Snooze
from storecrawl.egress import HeldBack
from storecrawl.upstream import UpstreamFailure

LEAST_SECONDS = 1.0
OUTAGE_SECONDS = 5.0
SPREAD = 0.25
# Beside a connection that is lost or not to be had, which has no SQLSTATE: the server ends, starts, or is full.
OUTAGES = ("08", "57P", "53300")


class Postponement:
    """Snoozes a task whose request was held back, or for which the database did not answer: no attempt is spent.

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
            return self._snooze(max(held.seconds, LEAST_SECONDS))
        except (DatabaseUnavailable, psycopg.OperationalError) as error:
            if not _is_outage(error.sqlstate):
                raise
            ctx.log.warning("It is put off, as the database does not answer: %s", error)
            return self._snooze(OUTAGE_SECONDS)
        except UpstreamFailure as failure:
            if not failure.retryable:
                raise PermanentFailure(str(failure)) from failure
            if not failure.retry_after:
                raise
            raise Retry(after=failure.retry_after) from failure

    def _snooze(self, seconds: float) -> Snooze:
        """All that are put off at once should not come back at once."""
        return Snooze(seconds * self._random.uniform(1.0, 1.0 + SPREAD))


def _is_outage(sqlstate: str | None) -> bool:
    return sqlstate is None or sqlstate.startswith(OUTAGES)
