"""Counts handlers that run at once: each locks a file, which the kernel unlocks when its process dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from typing import TextIO


class Places:
    """Numbered files in a folder. Each handler takes the first free one, so their number shows how many ran at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place during the block."""
        # One at a time: a place that becomes free behind a concurrent search would lead to too high a count.
        with self.closed():
            place = self._first_free()
        with place:
            yield

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Let no handler take a place during the block. The holders can leave theirs."""
        with (self._folder / "door").open("w") as door:
            flock(door, LOCK_EX)
            yield

    def most(self) -> int:
        """Return the highest number of simultaneous handlers."""
        return len(list(self._folder.glob("place-*")))

    def holders(self) -> list[int]:
        """Return the processes that hold a place now. Call this only within `closed`."""
        return [int(path.read_text()) for path in sorted(self._folder.glob("place-*")) if _is_held(path)]

    def _first_free(self) -> TextIO:
        for number in count():
            place = (self._folder / f"place-{number:02}").open("a+")
            try:
                flock(place, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                place.close()
                continue
            place.truncate(0)
            place.write(str(os.getpid()))
            place.flush()
            return place
        raise AssertionError


def _is_held(path: Path) -> bool:
    with path.open() as place:
        try:
            flock(place, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return True
    return False
