"""`task_routes`: maps tasks to queues, which are roles here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from rolecall.model.errors import InvalidDeclaration


def queue_of(name: str, routes: Any) -> str | None:
    """Return the queue of the first matching route. Raises InvalidDeclaration for routes that are functions."""
    for pattern, route in _pairs(routes):
        if pattern.fullmatch(name) if isinstance(pattern, re.Pattern) else fnmatchcase(name, pattern):
            queue = route.get("queue") if isinstance(route, Mapping) else route
            if isinstance(route, Mapping):
                _require_queue_alone(name, route)
            return None if queue is None else str(getattr(queue, "name", queue))
    return None


def _require_queue_alone(name: str, route: Mapping[str, Any]) -> None:
    """Reject everything but a queue. Exchange and routing key are allowed next to it, because they are redundant."""
    more = route.keys() - {"queue", *({"exchange", "exchange_type", "routing_key"} if "queue" in route else ())}
    if more:
        raise InvalidDeclaration(
            f"task_routes sets {min(more)} for {name}, which has no equivalent there: set only its queue, and the rest "
            "where the task is declared"
        )


def _pairs(routes: Any) -> Iterable[tuple[Any, Any]]:
    if routes is None:
        return
    if isinstance(routes, Mapping):
        yield from routes.items()
    elif isinstance(routes, tuple | list):
        for each in routes:
            if isinstance(each, Mapping | list):
                yield from _pairs(each)
            elif isinstance(each, tuple) and len(each) == 2:  # noqa: PLR2004 - a pair
                yield each
            else:
                raise _no_code(each)
    else:
        raise _no_code(routes)


def _no_code(route: object) -> InvalidDeclaration:
    return InvalidDeclaration(
        f"task_routes has {route!r}, which has no equivalent: use name patterns with their queues, "
        "or queue= where the task is declared or called"
    )
