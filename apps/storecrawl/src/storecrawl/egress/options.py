"""The settings of the egress."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressOptions:
    """How requests leave. Times are in seconds, rates in requests a second; no rate is no limit.

    Routes are loaded every `reload_every`, and what became of requests is written down every `report_every`. A route
    on which as many different stores in a row as `forbidden_limit` says are answered 403, and on no other, is paused
    for `pause`, then tried by one visit, and paused for twice as long each time that fails, up to `longest_pause`; the
    last route for `pause` only. A limit of 0 never blames anybody. `host_rate` is shared by all workers of a database;
    `store_rate` is each worker's, which is all of a store's: its tasks share a key. After `breaker_failures` failures
    in a row a host is left alone for `breaker_seconds`. A turn that comes within `patience` is waited for; one that
    comes later is held back. `clients` is how many routes keep their connections.
    """

    reload_every: float = 60.0
    report_every: float = 1.0
    forbidden_limit: int = 3
    pause: float = 60.0
    longest_pause: float = 900.0
    host_rate: float | None = None
    store_rate: float | None = None
    breaker_failures: int = 10
    breaker_seconds: float = 30.0
    patience: float = 60.0
    clients: int = 32

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        rates = [rate for rate in (self.host_rate, self.store_rate) if rate is not None]
        times = (self.reload_every, self.report_every, self.breaker_seconds, self.pause, self.longest_pause)
        if min([*times, *rates]) <= 0 or self.patience < 0:
            raise ValueError("times and rates must be above 0, the patience not below 0")
        if self.forbidden_limit < 0 or min(self.breaker_failures, self.clients) < 1:
            raise ValueError("forbidden_limit must not be below 0, breaker_failures and clients not below 1")
