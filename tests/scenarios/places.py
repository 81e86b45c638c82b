"""What handlers themselves see of who runs beside them: each locks a file, which the kernel unlocks when its process dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from typing import TextIO


class Places:
    """Numbered files in a folder, of which each handler takes the first free one: there are as many as ran at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have a place for the block."""
        with (self._folder / "door").open("w") as door:
            # One at a time: what becomes free behind a search would make the places look fuller than they were.
            flock(door, LOCK_EX)
            place = self._first_free()
        with place:
            yield

    def holders(self) -> list[int]:
        """Return which process had each place last; there are as many as were ever taken at once."""
        return [int(path.read_text() or 0) for path in sorted(self._folder.glob("place-*"))]

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
