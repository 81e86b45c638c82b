"""What normalizing can refuse: a whole document, or one product of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from storecrawl.catalog.normalize.menu import Refusal


class NotAMenu(ValueError):
    """The document is no menu that we understand; `reason` names what was seen instead.

    `record_count` is how many records it holds, every one of them refused; `refused` says why of each that was read.
    """

    def __init__(self, reason: str, *, record_count: int = 0, refused: tuple[Refusal, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.record_count = record_count
        self.refused = refused

    def __reduce__(self) -> tuple[Callable[[], NotAMenu], tuple[()]]:
        """Be pickled with all that it says: it may be found out in another process."""
        return partial(NotAMenu, self.reason, record_count=self.record_count, refused=self.refused), ()


class Unusable(ValueError):
    """One product or option cannot be normalized; the normalizer records it and goes on."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
