"""Choose the next route: all take turns; resting ones and those that have just failed come last."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from storecrawl.egress.routes import Route

FIRST_REST = 1.0
LONGEST_REST = 60.0


@dataclass(slots=True)
class Standing:
    """The state of a route; `forbidden` are the profiles of the 403 responses since its last success.

    It is not used before `paused_until`; after that, only a caller with permission probes it.
    """

    route: Route
    last_chosen: int = 0
    rests_until: float = 0.0
    paused_until: float | None = None
    troubles: int = 0
    forbidden: set[str] = field(default_factory=set)


class RoutePool:
    """The active routes of this worker."""

    def __init__(self) -> None:
        self._standings: dict[int, Standing] = {}
        self._chosen = 0

    def __len__(self) -> int:
        return len(self._standings)

    def replace(self, routes: Iterable[Route]) -> None:
        """Replace the active routes; remaining routes keep their state."""
        known, self._standings = self._standings, {}
        for route in routes:
            standing = known.get(route.id) or Standing(route)
            standing.route = route
            standing.forbidden = set(route.forbidden_with)
            self._standings[route.id] = standing
            self.pause(route.id, route.paused_for)

    def drop(self, route_id: int) -> None:
        self._standings.pop(route_id, None)

    def next(self, avoid: Collection[int] = ()) -> Route | None:
        """Return the next route, preferably none of those to avoid; None if there is none."""
        now = time.monotonic()
        usable = [each for each in self._standings.values() if (each.paused_until or now) <= now]
        candidates = [each for each in usable if each.route.id not in avoid] or usable
        if not candidates:
            return None
        chosen = min(candidates, key=lambda each: (max(each.rests_until, now), each.last_chosen))
        self._chosen += 1
        chosen.last_chosen = self._chosen
        return chosen.route

    def has_another(self, avoid: Collection[int]) -> bool:
        """Return whether a route other than those to avoid may be used at once."""
        now = time.monotonic()
        others = [each for route_id, each in self._standings.items() if route_id not in avoid]
        return any(each.rests_until <= now and each.paused_until is None for each in others)

    def pause(self, route_id: int, seconds: float | None) -> None:
        """Pause a route for this many seconds, after which it must be probed; None ends the pause."""
        standing = self._standings.get(route_id)
        if standing is not None:
            standing.paused_until = None if seconds is None else time.monotonic() + max(0.0, seconds)

    def is_paused(self, route_id: int) -> bool:
        """Return whether the route is paused, or still has to be probed."""
        standing = self._standings.get(route_id)
        return standing is not None and standing.paused_until is not None

    def soonest(self) -> float | None:
        """Return in how many seconds the first paused route may be probed; None if none is paused."""
        pauses = [each.paused_until for each in self._standings.values() if each.paused_until is not None]
        return max(0.0, min(pauses) - time.monotonic()) if pauses else None

    def rest(self, route_id: int) -> float:
        """Return in how many seconds the route may be used; 0 means now."""
        standing = self._standings.get(route_id)
        return max(0.0, standing.rests_until - time.monotonic()) if standing else 0.0

    def let_rest(self, route_id: int, seconds: float) -> None:
        """Do not use a route for this many seconds."""
        standing = self._standings.get(route_id)
        if standing is not None:
            standing.rests_until = max(standing.rests_until, time.monotonic() + seconds)

    def forbidden(self, route_id: int) -> Collection[str]:
        """Return the profiles that were forbidden on the route."""
        standing = self._standings.get(route_id)
        return frozenset(standing.forbidden) if standing else frozenset()

    def forbid(self, route_id: int, profile: str) -> None:
        standing = self._standings.get(route_id)
        if standing is not None:
            standing.forbidden.add(profile)

    def note_success(self, route_id: int) -> bool:
        """Record a good response; return whether there were 403 responses before it, or the route is paused."""
        standing = self._standings.get(route_id)
        if standing is None:
            return False
        standing.troubles = 0
        was_forbidden = bool(standing.forbidden)
        standing.forbidden.clear()
        return was_forbidden or standing.paused_until is not None

    def note_failure(self, route_id: int) -> None:
        """Record a failure of the proxy itself: rest it, longer after each failure in a row."""
        standing = self._standings.get(route_id)
        if standing is not None:
            self.let_rest(route_id, min(FIRST_REST * 2.0**standing.troubles, LONGEST_REST))
            standing.troubles += 1
