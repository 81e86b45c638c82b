"""Shared code of the storm tests: concurrent sessions that act at random for some seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

# Each session goes on until it has done each act so often, however slow the machine is.
ENOUGH = 5


def lacks(done: Counter[str], acts: Sequence[Callable[[], object]]) -> bool:
    """Whether a session must go on, whatever the time: `done` counts its acts by name."""
    return any(done[act.__name__] < ENOUGH for act in acts)
