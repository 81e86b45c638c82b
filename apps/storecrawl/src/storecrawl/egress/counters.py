"""Outcomes of requests, counted by route until the next report."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import msgspec

LONGEST_ERROR = 300
LONGEST_SUBJECT = 200
REPORTED_FIELDS = ("route_id", "successes", "failures", "recovered", "forbidden_with", "forbidden_about", "last_error")


class RouteCounter(msgspec.Struct, kw_only=True):
    """The outcomes on one route since the last report.

    `recovered` means that there was a good response. `forbidden_with` and `forbidden_about` count the 403
    responses after it, by profile and by subject.
    """

    route_id: int
    successes: int = 0
    failures: int = 0
    recovered: bool = False
    forbidden_with: list[str] = []
    forbidden_about: list[str] = []
    last_error: str | None = None
    used_at: float = 0.0
    failed_at: float | None = None

    def add_earlier(self, earlier: RouteCounter) -> None:
        self.successes += earlier.successes
        self.failures += earlier.failures
        if not self.recovered:
            self.forbidden_with = list(dict.fromkeys([*earlier.forbidden_with, *self.forbidden_with]))
            self.forbidden_about = list(dict.fromkeys([*earlier.forbidden_about, *self.forbidden_about]))
        self.recovered = self.recovered or earlier.recovered
        self.last_error = self.last_error or earlier.last_error
        self.used_at = max(self.used_at, earlier.used_at)
        self.failed_at = self.failed_at or earlier.failed_at

    def to_report(self, now: float) -> dict[str, Any]:
        """Return the counts in the report's form: times as seconds ago, since clocks of machines differ."""
        ago = None if self.failed_at is None else now - self.failed_at
        counted = {name: getattr(self, name) for name in REPORTED_FIELDS}
        return {**counted, "used_ago": now - self.used_at, "failed_ago": ago}


class Counters:
    """The counters of all routes used since the last call of `take`."""

    def __init__(self) -> None:
        self._by_route: dict[int, RouteCounter] = {}

    def __bool__(self) -> bool:
        return bool(self._by_route)

    def count_success(self, route_id: int, *, recovered: bool) -> None:
        """Count a good response; `recovered` if it is evidence that the host accepts the route."""
        counter = self._touch(route_id)
        counter.successes += 1
        if recovered:
            counter.recovered = True
            counter.forbidden_with.clear()
            counter.forbidden_about.clear()

    def count_failure(self, route_id: int, error: str) -> None:
        """Count a request without a usable response."""
        counter = self._touch(route_id)
        counter.failures += 1
        counter.last_error = error[:LONGEST_ERROR]
        counter.failed_at = counter.used_at

    def count_forbidden(self, route_id: int, profile: str, about: str, error: str) -> None:
        self.count_failure(route_id, error)
        counter = self._by_route[route_id]
        for known, one in ((counter.forbidden_with, profile), (counter.forbidden_about, about[:LONGEST_SUBJECT])):
            if one not in known:
                known.append(one)

    def take(self) -> list[RouteCounter]:
        counters, self._by_route = list(self._by_route.values()), {}
        return counters

    def put_back(self, counters: Iterable[RouteCounter]) -> None:
        """Put counts that could not be reported back before newer ones."""
        for earlier in counters:
            self._counter_of(earlier.route_id).add_earlier(earlier)

    def _touch(self, route_id: int) -> RouteCounter:
        counter = self._counter_of(route_id)
        counter.used_at = time.monotonic()
        return counter

    def _counter_of(self, route_id: int) -> RouteCounter:
        return self._by_route.setdefault(route_id, RouteCounter(route_id=route_id))
