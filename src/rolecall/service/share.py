"""How much of something one caller may have at a time, so that there is some left for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rolecall.model.errors import TooManyRequests

__all__ = ["Share"]


class Share:
    """Counts what each caller has at the moment; `problem` is what one hears who wants more than `most`."""

    def __init__(self, most: int, problem: str, *, retry_after: float) -> None:
        self._most = most
        self._problem = problem
        self._retry_after = retry_after
        self._held: Counter[str] = Counter()

    @contextmanager
    def taken_by(self, caller: str | None) -> Iterator[None]:
        """Take one for the length of the block; nobody counts what is taken by None. Raises TooManyRequests."""
        if caller is None:
            yield
            return
        if self._held[caller] >= self._most:
            raise TooManyRequests(self._problem, retry_after=self._retry_after)
        self._held[caller] += 1
        try:
            yield
        finally:
            self._held[caller] -= 1
            if not self._held[caller]:
                del self._held[caller]
