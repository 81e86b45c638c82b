"""The places of keys that this worker holds: in each, its tasks run one after another, in the order of their claims."""

from __future__ import annotations

from collections import deque

from rolecall.worker.in_flight import HeldTask, Place

FIRST_RUN = 32
LONGEST_RUN = 1_000
GROWTH = 2
BACK = 4


class Places:
    """Each place has a line of held tasks, of which the first may begin, or has begun.

    `run` is how many tasks a line may have: as many as have begun in time so far. `behind` counts those that
    are not the first.
    """

    __slots__ = ("_lines", "behind", "run")

    def __init__(self) -> None:
        self._lines: dict[Place, deque[HeldTask]] = {}
        self.behind = 0
        self.run = FIRST_RUN

    def admit(self, held: HeldTask, place: Place) -> bool:
        """Add a task to the line of its place; whether it is the first there, and may begin.

        One that follows nobody begins a line anew: for the database the place was free, though the handler of a task
        that has ended in its own transaction may still be at work.
        """
        line = self._lines.get(place)
        if line is not None and held.follows:
            line.append(held)
            self.behind += 1
            return False
        if line is not None:
            self._cut(line)
        self._lines[place] = deque((held,))
        return True

    def leave(self, held: HeldTask) -> HeldTask | None:
        """Take the first of a line out of it; return the next, if there is one: it may begin now."""
        line = self._line(held)
        if line is None:
            return None
        line.popleft()
        if not line:
            self._forget(held)
            return None
        self.behind -= 1
        return line[0]

    def withdraw(self, held: HeldTask) -> bool:
        """Take back a task that stands behind another; false when it does not."""
        line = self._lines.get(held.place) if held.place is not None else None
        if line is None or held not in line or line[0] is held:
            return False
        line.remove(held)
        self.behind -= 1
        return True

    def close(self, held: HeldTask) -> list[HeldTask]:
        """Take the first of a line out of it, with all behind it; return these: none may begin before it has ended."""
        line = self._line(held)
        if line is None:
            return []
        line.popleft()
        self._forget(held)
        self.behind -= len(line)
        return list(line)

    def take_all(self) -> list[HeldTask]:
        """Take back all that stand behind others."""
        return [held for line in self._lines.values() for held in self._cut(line)]

    def take_late(self, before: float) -> list[HeldTask]:
        """Take back whole lines behind a first task, in which one has stood since that moment, or longer."""
        return [
            held
            for line in self._lines.values()
            if len(line) > 1 and line[1].delivered_at <= before
            for held in self._cut(line)
        ]

    def learn(self, *, late: bool) -> None:
        """Make lines shorter, as tasks in some began too late to wait for, or let them grow."""
        self.run = max(GROWTH, self.run // BACK) if late else min(LONGEST_RUN, self.run * GROWTH)

    def _line(self, held: HeldTask) -> deque[HeldTask] | None:
        line = self._lines.get(held.place) if held.place is not None else None
        return line if line is not None and line[0] is held else None

    def _cut(self, line: deque[HeldTask]) -> list[HeldTask]:
        first, *others = line
        line.clear()
        line.append(first)
        self.behind -= len(others)
        return others

    def _forget(self, held: HeldTask) -> None:
        if held.place is not None:
            del self._lines[held.place]
