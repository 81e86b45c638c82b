"""The settings of requests to a platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MEBIBYTE = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Settings of requests to a platform. Times are in seconds.

    A failed request is retried `retries` times, after `backoff` · 2^n (twice that after a 429) plus or
    minus `jitter` of it. A wait longer than `longest_wait` is left to the caller. A wait that the upstream
    requests counts as at most `longest_retry_after`. `page_pause` passes before each page but the first. `origin`
    is sent as Origin and Referer, by default the upstream's own. `max_body_bytes` limits a decompressed body.
    """

    timeout: float = 30.0
    retries: int = 3
    backoff: float = 2.0
    jitter: float = 0.25
    longest_wait: float = 60.0
    longest_retry_after: float = 3600.0
    page_pause: float = 0.4
    concurrency: int = 8
    max_body_bytes: int = 16 * MEBIBYTE
    origin: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        times = (self.backoff, self.jitter, self.longest_wait, self.longest_retry_after, self.page_pause)
        if self.timeout <= 0 or min(times) < 0:
            raise ValueError("the timeout must be positive, other times at least 0")
        if self.retries < 0 or min(self.concurrency, self.max_body_bytes) < 1:
            raise ValueError("retries must be at least 0; concurrency and max_body_bytes at least 1")
