"""How many live workers take the tasks of a role or a handler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rolecall.model.insight import AlikeWorkers

__all__ = ["Coverage"]


class Coverage:
    """The live workers by what they take, so that a count does not look at each of them."""

    def __init__(self, groups: list[AlikeWorkers]) -> None:
        self._by_handler: dict[str, list[AlikeWorkers]] = defaultdict(list)
        for group in groups:
            for handler in group.handlers:
                self._by_handler[handler].append(group)

    def workers(self, role: str, handlers: Iterable[str]) -> int:
        """Count the workers that take new tasks of the role for at least one of the handlers."""
        found = {
            id(group): group.number
            for handler in handlers
            for group in self._by_handler.get(handler, ())
            if not group.roles or role in group.roles
        }
        return sum(found.values())
