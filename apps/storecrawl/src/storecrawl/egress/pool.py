"""Which route is next: all take turns, those that rest or have just failed come last."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from storecrawl.egress.routes import Route

FIRST_REST = 1.0
LONGEST_REST = 60.0


@dataclass(slots=True)
class Standing:
    """How a route stands: `forbidden` are the profiles of the answers 403 since its last success.

    A paused one is not used before `paused_until`, and then by whoever is let try it.
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
        """Take over the active routes as they are now; what is known of those that stay is kept."""
        known, self._standings = self._standings, {}
        for route in routes:
            standing = known.get(route.id) or Standing(route)
            standing.route = route
            standing.forbidden = set(route.forbidden_with)
            self._standings[route.id] = standing
            self.pause(route.id, route.paused_for)

    def drop(self, route_id: int) -> None:
        """Use a route no more."""
        self._standings.pop(route_id, None)

    def next(self, avoid: Collection[int] = ()) -> Route | None:
        """Return the route whose turn it is, one to avoid only where there is no other; None where there is none."""
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
        """Whether there is a route that is not to be avoided and may be used at once."""
        now = time.monotonic()
        others = [each for route_id, each in self._standings.items() if route_id not in avoid]
        return any(each.rests_until <= now and each.paused_until is None for each in others)

    def pause(self, route_id: int, seconds: float | None) -> None:
        """Use a route no more for so many seconds, and then by who may try it; None: it is paused no more."""
        standing = self._standings.get(route_id)
        if standing is not None:
            standing.paused_until = None if seconds is None else time.monotonic() + max(0.0, seconds)

    def is_paused(self, route_id: int) -> bool:
        """Whether the route is paused, or was and nobody has found yet that it may be used."""
        standing = self._standings.get(route_id)
        return standing is not None and standing.paused_until is not None

    def soonest(self) -> float | None:
        """In how many seconds the first paused route may be tried; None where none is paused."""
        pauses = [each.paused_until for each in self._standings.values() if each.paused_until is not None]
        return max(0.0, min(pauses) - time.monotonic()) if pauses else None

    def rest(self, route_id: int) -> float:
        """In how many seconds the route may be used again; 0 for at once."""
        standing = self._standings.get(route_id)
        return max(0.0, standing.rests_until - time.monotonic()) if standing else 0.0

    def let_rest(self, route_id: int, seconds: float) -> None:
        """Leave a route alone for a while."""
        standing = self._standings.get(route_id)
        if standing is not None:
            standing.rests_until = max(standing.rests_until, time.monotonic() + seconds)

    def forbidden(self, route_id: int) -> Collection[str]:
        """The profiles that are not wanted there any more."""
        standing = self._standings.get(route_id)
        return frozenset(standing.forbidden) if standing else frozenset()

    def forbid(self, route_id: int, profile: str) -> None:
        """An answer was 403."""
        standing = self._standings.get(route_id)
        if standing is not None:
            standing.forbidden.add(profile)

    def note_success(self, route_id: int) -> bool:
        """A good answer came; true if answers 403 had come before it, or the route is paused."""
        standing = self._standings.get(route_id)
        if standing is None:
            return False
        standing.troubles = 0
        was_forbidden = bool(standing.forbidden)
        standing.forbidden.clear()
        return was_forbidden or standing.paused_until is not None

    def note_failure(self, route_id: int) -> None:
        """The proxy itself failed: leave it alone, the longer the more often."""
        standing = self._standings.get(route_id)
        if standing is not None:
            self.let_rest(route_id, min(FIRST_REST * 2.0**standing.troubles, LONGEST_REST))
            standing.troubles += 1
