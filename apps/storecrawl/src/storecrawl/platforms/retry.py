"""Decide whether and when a request to a platform is retried."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from storecrawl.egress import Visit
from storecrawl.platforms.errors import RateLimited, UpstreamFailure
from storecrawl.platforms.exchange import report_failure
from storecrawl.platforms.options import HttpOptions

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Decides whether and when a request is retried."""

    options: HttpOptions
    random: Random

    async def run(self, visit: Visit, attempt: Callable[[], Awaitable[T]]) -> T:
        """Attempt a request until it succeeds or must not be retried; report each outcome to the visit."""
        for failures_before in itertools.count():
            try:
                answer = await attempt()
            except UpstreamFailure as failure:
                await report_failure(visit, failure)
                wait = self.wait_after(failure, failures_before, other_route=visit.can_switch_route)
                if wait is None:
                    await visit.give_up()
                    raise
            else:
                visit.record_success()
                return answer
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    def wait_after(self, failure: UpstreamFailure, failures_before: int, *, other_route: bool = False) -> float | None:
        """Return the seconds to wait: 0 for another route at once (`other_route`), None to raise the failure."""
        if not failure.retryable or failures_before >= self.options.retries:
            return None
        if other_route:
            return 0.0
        wait = self.pause(failures_before) * (2 if isinstance(failure, RateLimited) else 1)
        wait = max(wait, failure.retry_after or 0.0)
        return wait if wait <= self.options.longest_wait else None

    def pause(self, failures_before: int) -> float:
        """Return the exponential pause after this many failures, with jitter."""
        spread = self.random.uniform(-self.options.jitter, self.options.jitter)
        return self.options.backoff * 2.0**failures_before * max(0.0, 1.0 + spread)
