"""The settings of the upstream client, and the rule for retries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from storecrawl.platforms.dutchie.operations import OPERATIONS
from storecrawl.platforms.errors import RateLimited, UpstreamFailure

MEBIBYTE = 1_048_576
LARGEST_PAGE = 100


class MenuMode(StrEnum):
    """The products that a menu request returns: those that customers see, or also those nearly sold out."""

    SHOWN = "shown"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Settings of the client. Times are in seconds.

    A failed request is retried `retries` times, after `backoff` · 2^n (twice that after a 429) plus or
    minus `jitter` of it. A wait longer than `longest_wait` is left to the caller. A wait that the upstream
    requests counts as at most `longest_retry_after`. `hashes` are persisted-query hashes by operation name,
    tried before that of our own text. `origin` is sent as Origin and Referer, by default the upstream's
    own. `max_body_bytes` limits a decompressed body.
    """

    timeout: float = 30.0
    retries: int = 3
    backoff: float = 2.0
    jitter: float = 0.25
    longest_wait: float = 60.0
    longest_retry_after: float = 3600.0
    page_pause: float = 0.4
    page_size: int = LARGEST_PAGE
    page_cap: int = 200
    concurrency: int = 8
    max_body_bytes: int = 16 * MEBIBYTE
    modes: tuple[MenuMode, ...] = (MenuMode.SHOWN, MenuMode.FULL)
    stores_path: str = "/graphql"
    menus_path: str = "/api-3/graphql"
    hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    origin: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        times = (self.backoff, self.jitter, self.longest_wait, self.longest_retry_after, self.page_pause)
        if self.timeout <= 0 or min(times) < 0:
            raise ValueError("the timeout must be positive, other times at least 0")
        if self.retries < 0 or min(self.page_cap, self.concurrency, self.max_body_bytes) < 1:
            raise ValueError("retries must be at least 0; page_cap, concurrency and max_body_bytes at least 1")
        if not 1 <= self.page_size <= LARGEST_PAGE:
            raise ValueError(f"page_size must be between 1 and {LARGEST_PAGE}, not {self.page_size}")
        unknown = sorted(self.hashes.keys() - {operation.name for operation in OPERATIONS})
        if unknown:
            raise ValueError(f"hashes must be of known operations, got {', '.join(unknown)}")
        if not self.modes:
            raise ValueError("modes must contain at least one mode")


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Decides whether and when a request is retried."""

    options: ClientOptions
    random: Random

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
