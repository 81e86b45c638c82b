"""What keeps a request from being sent, and what is wrong with a route.

HeldBack            nothing was sent; `seconds` says when to come again
├── NoUsableRoute   every route is disabled or paused
├── RouteBlamed     what was forbidden was so by the fault of the route, which is paused now
├── CircuitOpen     the host has only failed lately
└── TurnTooFar      so many wait for this host, or it asked for so long a pause, that waiting here makes no sense
NoActiveRoute       a ConfigError: a worker that fetches finds no route at its start
RouteError          what was asked of a route cannot be done
"""

from __future__ import annotations

from rolecall import ConfigError


class HeldBack(Exception):
    """A request that was not sent; it may be in so many seconds."""

    def __init__(self, problem: str, *, seconds: float) -> None:
        super().__init__(f"held back: {problem}")
        self.seconds = seconds


class NoUsableRoute(HeldBack):
    """No active route is left, or all are paused; `seconds` is when they are looked for again."""

    def __init__(self, seconds: float, *, paused: bool) -> None:
        problem = "every active outgoing route is paused" if paused else "no outgoing route is active"
        super().__init__(f"{problem}; `storecrawl routes list` says why", seconds=seconds)


class RouteBlamed(HeldBack):
    """What was asked was forbidden on routes that are paused for it: nothing is held against whom it was about."""

    def __init__(self, seconds: float) -> None:
        super().__init__("it was forbidden on a route on which others are forbidden too", seconds=seconds)


class CircuitOpen(HeldBack):
    """So many requests in a row failed at this host that it is left alone."""

    def __init__(self, host: str, failures: int, seconds: float) -> None:
        super().__init__(
            f"{failures} requests in a row failed at {host}; the next one goes there in {seconds:.0f} s",
            seconds=seconds,
        )
        self.host = host


class TurnTooFar(HeldBack):
    """The turn at this host comes later than anybody should wait with a slot in hand."""

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(f"the next turn at {host} comes in {seconds:.0f} s", seconds=seconds)
        self.host = host


class NoActiveRoute(ConfigError):
    """There is no route by which a worker could fetch."""

    def __init__(self) -> None:
        super().__init__(
            "no outgoing route is active, so this worker could fetch nothing: add one with `storecrawl routes add"
            " http://HOST:PORT` (or `direct`, for this machine's own address), or enable one that"
            " `storecrawl routes list` shows",
            variable="storecrawl routes",
        )


class RouteError(Exception):
    """What was asked of a route cannot be done."""
