"""When a failed request is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from storecrawl.upstream.errors import RateLimited, UpstreamFailure
from storecrawl.upstream.options import ClientOptions


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Decides how long to wait before a retry, if there is one."""

    options: ClientOptions
    random: Random

    def wait_after(self, failure: UpstreamFailure, failures_before: int, *, anew: bool = False) -> float | None:
        """Return the seconds to wait, none if another route asks `anew`; None if the failure is to be raised."""
        if not failure.retryable or failures_before >= self.options.retries:
            return None
        if anew:
            return 0.0
        wait = self.pause(failures_before) * (2 if isinstance(failure, RateLimited) else 1)
        wait = max(wait, failure.retry_after or 0.0)
        return wait if wait <= self.options.longest_wait else None

    def pause(self, failures_before: int) -> float:
        """Return the pause after a failure, growing by doubling and blurred by jitter."""
        spread = self.random.uniform(-self.options.jitter, self.options.jitter)
        return self.options.backoff * 2.0**failures_before * max(0.0, 1.0 + spread)
