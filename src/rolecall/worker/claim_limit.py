"""How many tasks a worker may claim at this moment, whatever its slots would take."""

from __future__ import annotations

from collections.abc import Callable

NO_LIMIT = 1_000_000


class ClaimLimit:
    """Says how many tasks may be claimed at this moment; every change of it nudges the producer by `changed`.

    A worker that backs off still takes one task while it runs none: whatever makes the machine busy, its
    tasks must not wait for ever.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._drained = False
        self._backing_off = False

    def drain(self, *, on: bool) -> None:
        """Take nothing at all, or again as before."""
        self._drained = on
        self._changed()

    def back_off(self, *, on: bool) -> None:
        """Take only what keeps one slot busy, or again as before."""
        self._backing_off = on
        self._changed()

    def most(self, *, busy: bool) -> int:
        """Return the most tasks that may be claimed now; `busy` when the worker runs any."""
        if self._drained:
            return 0
        if self._backing_off:
            return 0 if busy else 1
        return NO_LIMIT
