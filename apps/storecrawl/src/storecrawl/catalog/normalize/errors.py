"""Errors of the normalizer: about a whole document, or about one product."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from storecrawl.catalog.normalize.menu import Refusal


class NotAMenu(ValueError):
    """The document is not a known form of menu; `reason` describes what it is instead.

    `record_count` is the number of its records, all of them refused; `refused` has the reason for each one
    that was read.
    """

    def __init__(self, reason: str, *, record_count: int = 0, refused: tuple[Refusal, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.record_count = record_count
        self.refused = refused

    def __reduce__(self) -> tuple[Callable[[], NotAMenu], tuple[()]]:
        """Keep all attributes when pickled: the error may be raised in another process."""
        return partial(NotAMenu, self.reason, record_count=self.record_count, refused=self.refused), ()


class Unusable(ValueError):
    """A product or option cannot be normalized. The normalizer records it and continues."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
