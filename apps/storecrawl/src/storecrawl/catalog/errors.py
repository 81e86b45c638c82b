"""What the catalog refuses.

CatalogError
├── UnknownStore      no such store, or none that may be crawled
├── UnknownProduct    no such product
├── UnknownImage      no such image, or none that was fetched
├── UnknownLocation   no such location
├── LocationRefused   a location's status does not allow it
├── UnknownPayload    no such payload, or none of that store
├── UnknownRawMenu    no such raw menu
├── NoPayload         a store that was never fetched, or not as often as a comparison takes
├── DifferentPayload  the path is taken by another document
└── ImplausibleMenu   fewer products than can be true; nothing was written
"""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 10


class CatalogError(Exception):
    """The catalog cannot do what was asked; nothing was written by the call that raised it."""


class UnknownStore(CatalogError):
    """Some of the stores that were named are not there, or not to be crawled."""

    def __init__(self, store_ids: Sequence[int], *, noun: str = "store") -> None:
        shown = ", ".join(map(str, store_ids[:SHOWN])) + (" ..." if len(store_ids) > SHOWN else "")
        super().__init__(f"there is no {noun} {shown}")
        self.store_ids = list(store_ids)


class UnknownProduct(CatalogError):
    """There is no such product."""

    def __init__(self, product_id: int) -> None:
        super().__init__(f"there is no product {product_id}")
        self.product_id = product_id


class UnknownLocation(CatalogError):
    """There is no such location."""

    def __init__(self, location_id: int) -> None:
        super().__init__(f"there is no location {location_id}")
        self.location_id = location_id


class LocationRefused(CatalogError):
    """What was decided about the location before does not allow it."""


class UnknownBrand(CatalogError):
    """There is no such brand."""

    def __init__(self, brand_id: int) -> None:
        super().__init__(f"there is no brand {brand_id}")
        self.brand_id = brand_id


class UnknownImage(CatalogError):
    """There is no such image, or it was never fetched."""

    def __init__(self, image_id: int) -> None:
        super().__init__(f"there is no image {image_id}")
        self.image_id = image_id


class UnknownPayload(CatalogError):
    """There is no such payload row, or it is of another store or fetch."""

    def __init__(self, payload_id: int, store_id: int | None = None) -> None:
        whose = "" if store_id is None else f" of store {store_id}"
        super().__init__(f"there is no crawl payload {payload_id}{whose}")
        self.payload_id = payload_id
        self.store_id = store_id


class UnknownRawMenu(CatalogError):
    """There is no such raw menu."""

    def __init__(self, raw_menu_id: int) -> None:
        super().__init__(f"there is no raw menu {raw_menu_id}")
        self.raw_menu_id = raw_menu_id


class NoPayload(CatalogError):
    """The store was never fetched, or not before the payload that another is to be compared with."""

    def __init__(self, store_id: int, *, before: int | None = None) -> None:
        super().__init__(f"store {store_id} has no crawl payload" + (f" before {before}" if before else ""))
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
