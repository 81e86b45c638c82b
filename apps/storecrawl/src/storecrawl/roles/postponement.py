"""Middleware that turns errors of upstream, egress, storage and database into outcomes of tasks."""

from __future__ import annotations

from random import Random
from typing import Any

import psycopg

from rolecall import Cancel, Context, DatabaseUnavailable, Next, PermanentFailure, Retry, Snooze
from storecrawl.egress import HeldBack
from storecrawl.payloads import PayloadUnreachable
from storecrawl.platforms.errors import UpstreamFailure
from storecrawl.platforms.settings import PlatformNotCrawled

LEAST_SECONDS = 1.0
OUTAGE_SECONDS = 5.0
STORAGE_SECONDS = 30.0
SPREAD = 0.25
# The server is stopping, starting or full. A lost or refused connection has no SQLSTATE and also counts.
OUTAGES = ("08", "57P", "53300")


class Postponement:
    """Snoozes a task if its request was held back, or storage or database did not respond; no attempt is spent.

    A failed task is retried no sooner than the upstream requested, and not at all if a retry cannot help.
    """

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()

    async def __call__(self, ctx: Context, call_next: Next) -> Any:
        try:
            return await call_next()
        except HeldBack as held:
            await ctx.info({"held_back": str(held)})
            return self._snooze(max(held.seconds, LEAST_SECONDS))
        except PayloadUnreachable as problem:
            await ctx.info({"held_back": f"the storage is away: {problem.reason}"})
            return self._snooze(STORAGE_SECONDS)
        except (DatabaseUnavailable, psycopg.OperationalError) as error:
            if not _is_outage(error.sqlstate):
                raise
            ctx.log.warning("Snoozed: the database does not respond: %s", error)
            return self._snooze(OUTAGE_SECONDS)
        except PlatformNotCrawled as problem:
            return Cancel(str(problem))
        except UpstreamFailure as failure:
            if not failure.retryable:
                raise PermanentFailure(f"{type(failure).__name__}: {failure}") from failure
            if not failure.retry_after:
                raise
            raise Retry(after=failure.retry_after) from failure

    def _snooze(self, seconds: float) -> Snooze:
        """Add jitter, so that tasks snoozed at once do not return at once."""
        return Snooze(seconds * self._random.uniform(1.0, 1.0 + SPREAD))


def _is_outage(sqlstate: str | None) -> bool:
    return sqlstate is None or sqlstate.startswith(OUTAGES)
