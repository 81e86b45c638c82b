"""Shared code of the storm tests: concurrent sessions that act at random for a few seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

# Each session continues until it has done each act this often, however slow the machine is.
ENOUGH = 5


def lacks(done: Counter[str], acts: Sequence[Callable[[], object]]) -> bool:
    """Return whether a session must continue after its time; `done` counts its acts by name."""
    return any(done[act.__name__] < ENOUGH for act in acts)
