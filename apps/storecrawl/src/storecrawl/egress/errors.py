"""Errors of requests that were not sent, and of routes.

HeldBack            nothing was sent; try again in `seconds`
├── NoUsableRoute   every route is disabled or paused
├── RouteBlamed     the route was the cause of 403 responses and is paused now
├── CircuitOpen     the host keeps failing
└── TurnTooFar      the wait for this host is too long for a task to wait in its slot
NoActiveRoute       a ConfigError: a worker that fetches has no route when it starts
RouteError          an invalid route, or an impossible operation on one
"""

from __future__ import annotations

from rolecall import ConfigError


class HeldBack(Exception):
    """A request that was not sent; it may be in `seconds`."""

    def __init__(self, problem: str, *, seconds: float) -> None:
        super().__init__(f"held back: {problem}")
        self.seconds = seconds


class NoUsableRoute(HeldBack):
    """There is no active route, or all are paused; they are checked again in `seconds`."""

    def __init__(self, seconds: float, *, paused: bool) -> None:
        problem = "every active outgoing route is paused" if paused else "no outgoing route is active"
        super().__init__(f"{problem}; see `storecrawl routes list` for the reasons", seconds=seconds)


class RouteBlamed(HeldBack):
    """A request was forbidden on routes that are paused for it. Its subject is not to blame."""

    def __init__(self, seconds: float) -> None:
        super().__init__("forbidden on a route on which other stores are forbidden, too", seconds=seconds)


class CircuitOpen(HeldBack):
    """The host is paused after too many failures in a row."""

    def __init__(self, host: str, failures: int, seconds: float) -> None:
        super().__init__(
            f"{failures} requests in a row failed at {host}; the next one is sent in {seconds:.0f} s",
            seconds=seconds,
        )
        self.host = host


class TurnTooFar(HeldBack):
    """The turn at this host is too far away to wait for it in a slot."""

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(f"the next turn at {host} is in {seconds:.0f} s", seconds=seconds)
        self.host = host


class NoActiveRoute(ConfigError):
    """A worker has no route over which it could fetch."""

    def __init__(self) -> None:
        super().__init__(
            "no outgoing route is active, so this worker could fetch nothing: add one with `storecrawl routes add"
            " http://HOST:PORT` (or `direct`, for this machine's own address), or enable one that"
            " `storecrawl routes list` shows",
            variable="storecrawl routes",
        )


class RouteError(Exception):
    """An invalid route, or an impossible operation on one."""
