"""Choose the next route: all take turns; resting ones and those that have just failed come last."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from storecrawl.egress.routes import Route

FIRST_REST = 1.0
LONGEST_REST = 60.0


@dataclass(slots=True)
class RouteState:
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
        self._states: dict[int, RouteState] = {}
        self._choices = 0

    def __len__(self) -> int:
        return len(self._states)

    def replace(self, routes: Iterable[Route]) -> None:
        """Replace the active routes; remaining routes keep their state."""
        known, self._states = self._states, {}
        for route in routes:
            state = known.get(route.id) or RouteState(route)
            state.route = route
            state.forbidden = set(route.forbidden_with)
            self._states[route.id] = state
            self.pause(route.id, route.paused_for)

    def drop(self, route_id: int) -> None:
        self._states.pop(route_id, None)

    def next(self, avoid: Collection[int] = ()) -> Route | None:
        """Return the next route, preferably none of those to avoid; None if there is none."""
        now = time.monotonic()
        usable = [each for each in self._states.values() if (each.paused_until or now) <= now]
        candidates = [each for each in usable if each.route.id not in avoid] or usable
        if not candidates:
            return None
        chosen = min(candidates, key=lambda each: (max(each.rests_until, now), each.last_chosen))
        self._choices += 1
        chosen.last_chosen = self._choices
        return chosen.route

    def has_another(self, avoid: Collection[int]) -> bool:
        """Return whether a route other than those to avoid may be used at once."""
        now = time.monotonic()
        others = [each for route_id, each in self._states.items() if route_id not in avoid]
        return any(each.rests_until <= now and each.paused_until is None for each in others)

    def pause(self, route_id: int, seconds: float | None) -> None:
        """Pause a route for this many seconds, after which it must be probed; None ends the pause."""
        state = self._states.get(route_id)
        if state is not None:
            state.paused_until = None if seconds is None else time.monotonic() + max(0.0, seconds)

    def is_paused(self, route_id: int) -> bool:
        """Return whether the route is paused, or still has to be probed."""
        state = self._states.get(route_id)
        return state is not None and state.paused_until is not None

    def soonest(self) -> float | None:
        """Return in how many seconds the first paused route may be probed; None if none is paused."""
        pauses = [each.paused_until for each in self._states.values() if each.paused_until is not None]
        return max(0.0, min(pauses) - time.monotonic()) if pauses else None

    def rest(self, route_id: int) -> float:
        """Return in how many seconds the route may be used; 0 means now."""
        state = self._states.get(route_id)
        return max(0.0, state.rests_until - time.monotonic()) if state else 0.0

    def let_rest(self, route_id: int, seconds: float) -> None:
        """Do not use a route for this many seconds."""
        state = self._states.get(route_id)
        if state is not None:
            state.rests_until = max(state.rests_until, time.monotonic() + seconds)

    def forbidden_profiles(self, route_id: int) -> Collection[str]:
        """Return the profiles that were forbidden on the route."""
        state = self._states.get(route_id)
        return frozenset(state.forbidden) if state else frozenset()

    def forbid(self, route_id: int, profile: str) -> None:
        state = self._states.get(route_id)
        if state is not None:
            state.forbidden.add(profile)

    def note_success(self, route_id: int) -> bool:
        """Record a good response; return whether there were 403 responses before it, or the route is paused."""
        state = self._states.get(route_id)
        if state is None:
            return False
        state.troubles = 0
        was_forbidden = bool(state.forbidden)
        state.forbidden.clear()
        return was_forbidden or state.paused_until is not None

    def note_failure(self, route_id: int) -> None:
        """Record a failure of the proxy itself: rest it, longer after each failure in a row."""
        state = self._states.get(route_id)
        if state is not None:
            self.let_rest(route_id, min(FIRST_REST * 2.0**state.troubles, LONGEST_REST))
            state.troubles += 1
