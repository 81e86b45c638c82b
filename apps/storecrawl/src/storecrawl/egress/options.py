"""The settings of the egress."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The highest rates of requests to a host and about a store, per second; None means no limit."""

    host: float | None = None
    store: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressOptions:
    """Settings of the egress. Times are in seconds, rates in requests per second; no rate means no limit.

    Routes are reloaded every `reload_every`, and outcomes are stored every `report_every`. A route is
    paused for `pause` if `forbidden_limit` different stores in a row are forbidden on it and on no other; 0
    turns this off. Then one visit probes it. Each failed probe doubles its pause, up to `longest_pause`;
    the last route is paused for `pause` only.

    `host_rate` is shared by all workers of a database. `store_rate` is per worker, which is enough, as
    tasks of a store share a key. After `breaker_failures` failures in a row, a host is paused for
    `breaker_seconds`. Turns up to `patience` away are waited for; later ones are held back. `clients` is
    the number of routes whose connections stay open.
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

    @property
    def rates(self) -> Rates:
        return Rates(host=self.host_rate, store=self.store_rate)

    def __post_init__(self) -> None:
        rates = [rate for rate in (self.host_rate, self.store_rate) if rate is not None]
        times = (self.reload_every, self.report_every, self.breaker_seconds, self.pause, self.longest_pause)
        if min([*times, *rates]) <= 0 or self.patience < 0:
            raise ValueError("times and rates must be positive, patience at least 0")
        if self.forbidden_limit < 0 or min(self.breaker_failures, self.clients) < 1:
            raise ValueError("forbidden_limit must be at least 0, breaker_failures and clients at least 1")
