"""The permits that this worker holds, each with the sequence of tasks that run under it one after another."""

from __future__ import annotations

from collections import deque

from rolecall.worker.in_flight import HeldTask, Permit

FIRST_RUN = 32
LONGEST_RUN = 1_000
GROWTH = 2
BACK = 4


class Sequences:
    """Sequences of held tasks by permit. Only the first task of each may start or has started.

    `max_length` is the maximum length of a sequence; it adapts to how many tasks have started in time so far.
    `waiting_count` is the number of tasks that are not first.
    """

    __slots__ = ("_lines", "max_length", "waiting_count")

    def __init__(self) -> None:
        self._lines: dict[Permit, deque[HeldTask]] = {}
        self.waiting_count = 0
        self.max_length = FIRST_RUN

    def admit(self, held: HeldTask, place: Permit) -> bool:
        """Add a task to the sequence of its permit; return whether it is the first and may start.

        A task that does not follow another starts a new sequence: the database considers the permit free, although the
        handler of a task that completed in its own transaction may still be running.
        """
        line = self._lines.get(place)
        if line is not None and held.is_behind:
            line.append(held)
            self.waiting_count += 1
            return False
        if line is not None:
            self._cut(line)
        self._lines[place] = deque((held,))
        return True

    def leave(self, held: HeldTask) -> HeldTask | None:
        """Remove the first task of a sequence; return the next one, if any, which may start now."""
        line = self._line(held)
        if line is None:
            return None
        line.popleft()
        if not line:
            self._forget(held)
            return None
        self.waiting_count -= 1
        return line[0]

    def withdraw(self, held: HeldTask) -> bool:
        """Remove a task that is not the first of its sequence; return False if there is none."""
        line = self._lines.get(held.permit) if held.permit is not None else None
        if line is None or held not in line or line[0] is held:
            return False
        line.remove(held)
        self.waiting_count -= 1
        return True

    def close(self, held: HeldTask) -> list[HeldTask]:
        """Remove a sequence by its first task; return the others, which may not start before it has finished."""
        line = self._line(held)
        if line is None:
            return []
        line.popleft()
        self._forget(held)
        self.waiting_count -= len(line)
        return list(line)

    def take_all(self) -> list[HeldTask]:
        return [held for line in self._lines.values() for held in self._cut(line)]

    def take_late(self, before: float) -> list[HeldTask]:
        """Remove and return the waiting tasks of sequences whose second task was delivered at or before `before`."""
        return [
            held
            for line in self._lines.values()
            if len(line) > 1 and line[1].delivered_at <= before
            for held in self._cut(line)
        ]

    def adapt_length(self, *, late: bool) -> None:
        """Shorten sequences if tasks had to wait too long; otherwise let them grow."""
        self.max_length = max(GROWTH, self.max_length // BACK) if late else min(LONGEST_RUN, self.max_length * GROWTH)

    def _line(self, held: HeldTask) -> deque[HeldTask] | None:
        line = self._lines.get(held.permit) if held.permit is not None else None
        return line if line is not None and line[0] is held else None

    def _cut(self, line: deque[HeldTask]) -> list[HeldTask]:
        first, *others = line
        line.clear()
        line.append(first)
        self.waiting_count -= len(others)
        return others

    def _forget(self, held: HeldTask) -> None:
        if held.permit is not None:
            del self._lines[held.permit]
