"""What the catalog refuses.

CatalogError
├── UnknownPayload    no such payload of that store and fetch
├── DifferentPayload  the path is taken by another document
└── ImplausibleMenu   fewer products than can be true; nothing was written
"""

from __future__ import annotations


class CatalogError(Exception):
    """The catalog cannot do what was asked; nothing was written by the call that raised it."""


class UnknownPayload(CatalogError):
    """There is no such payload row of that store and fetch."""

    def __init__(self, payload_id: int, store_id: int | None = None) -> None:
        whose = "" if store_id is None else f" of store {store_id} with that fetch time"
        super().__init__(f"there is no crawl payload {payload_id}{whose}")
        self.payload_id = payload_id
        self.store_id = store_id


class DifferentPayload(CatalogError):
    """A row of the same path stands for another document."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the path {path!r} belongs to another crawl payload")
        self.path = path


class ImplausibleMenu(CatalogError):
    """The menu is so much smaller than expected that the feed was rather cut than emptied."""

    def __init__(self, count: int, expected: int, basis: str) -> None:
        super().__init__(f"{count} products where {basis} {expected}: the feed looks cut")
        self.count = count
        self.expected = expected
        self.basis = basis
