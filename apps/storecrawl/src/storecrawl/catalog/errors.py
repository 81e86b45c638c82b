"""Errors of the catalog.

CatalogError
├── UnknownStore      no such store, or it must not be crawled
├── UnknownProduct    no such product
├── UnknownLocation   no such location
├── LocationRefused   the location's status does not allow the decision
├── UnknownPayload    no such payload, or it is of another store
├── UnknownRawMenu    no such raw menu
├── UnknownWebhook    no such webhook
├── WebhookExists     there is a webhook with this URL
├── UnknownPosition   the feed of changes does not reach this position
├── ChangesDropped    retention has deleted changes after this position
├── NoPayload         the store has too few payloads
├── DifferentPayload  another document has the same path
└── HeldMenu          the menu is probably not true; nothing was written
    ├── ImplausibleMenu   it has too few products
    └── LostValues        too few values of a field are known
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storecrawl.catalog.normalize import KnownValues

SHOWN = 10


class CatalogError(Exception):
    """Base of the catalog's errors. The call that raised it has written nothing."""


class UnknownStore(CatalogError):
    """Some of the given stores do not exist or must not be crawled."""

    def __init__(self, store_ids: Sequence[int], *, noun: str = "store") -> None:
        shown = ", ".join(map(str, store_ids[:SHOWN])) + (" ..." if len(store_ids) > SHOWN else "")
        super().__init__(f"no {noun} {shown}")
        self.store_ids = list(store_ids)


class UnknownProduct(CatalogError):
    """No such product."""

    def __init__(self, product_id: int) -> None:
        super().__init__(f"no product {product_id}")
        self.product_id = product_id


class UnknownLocation(CatalogError):
    """No such location."""

    def __init__(self, location_id: int) -> None:
        super().__init__(f"no location {location_id}")
        self.location_id = location_id


class LocationRefused(CatalogError):
    """An earlier decision about the location does not allow this one."""


class UnknownBrand(CatalogError):
    """No such brand."""

    def __init__(self, brand_id: int) -> None:
        super().__init__(f"no brand {brand_id}")
        self.brand_id = brand_id


class UnknownPayload(CatalogError):
    """No such payload, or it is of another store or fetch."""

    def __init__(self, payload_id: int, store_id: int | None = None) -> None:
        suffix = "" if store_id is None else f" of store {store_id}"
        super().__init__(f"no crawl payload {payload_id}{suffix}")
        self.payload_id = payload_id
        self.store_id = store_id


class UnknownRawMenu(CatalogError):
    """No such raw menu."""

    def __init__(self, raw_menu_id: int) -> None:
        super().__init__(f"no raw menu {raw_menu_id}")
        self.raw_menu_id = raw_menu_id


class UnknownWebhook(CatalogError):
    """No such webhook."""

    def __init__(self, webhook_id: int) -> None:
        super().__init__(f"no webhook {webhook_id}")
        self.webhook_id = webhook_id


class WebhookExists(CatalogError):
    """There is a webhook with this URL."""

    def __init__(self) -> None:
        super().__init__("there is a webhook with this URL; remove it first to change it")


class UnknownPosition(CatalogError):
    """The feed of changes does not reach this position: it was given by another database."""

    def __init__(self, since: int, published: int) -> None:
        super().__init__(f"the feed ends at position {published}, before {since}: start again without since")
        self.published = published


class ChangesDropped(CatalogError):
    """Changes after the position are gone: the reader has to read everything again."""

    def __init__(self, since: int, dropped: int) -> None:
        super().__init__(
            f"changes after position {since} were deleted up to {dropped}: read the products again, and continue with"
            f" since={dropped}"
        )
        self.dropped = dropped


class NoPayload(CatalogError):
    """The store was never fetched, or has no earlier payload to compare with."""

    def __init__(self, store_id: int, *, before: int | None = None) -> None:
        super().__init__(f"store {store_id} has no crawl payload" + (f" before {before}" if before else ""))
        self.store_id = store_id


class DifferentPayload(CatalogError):
    """The fetch already has another payload."""

    def __init__(self, store_id: int, sequence: int) -> None:
        super().__init__(f"fetch {sequence} of store {store_id} already has another crawl payload")
        self.store_id = store_id
        self.sequence = sequence


class HeldMenu(CatalogError):
    """The menu lost so much that it is probably not true; `fields` names the losses."""

    def __init__(self, message: str, fields: Sequence[str]) -> None:
        super().__init__(message)
        self.fields = list(fields)


class ImplausibleMenu(HeldMenu):
    """The menu is so much smaller than expected that the feed was probably cut."""

    def __init__(self, count: int, expected: int, basis: str) -> None:
        super().__init__(f"{count} products, but {basis} {expected}: the feed was probably cut", ["products"])
        self.count = count
        self.expected = expected
        self.basis = basis


class LostValues(HeldMenu):
    """Values of a field are missing that the store's last menu had: the source probably renamed the field.

    `lost` has the known values of each such field, and their share in the last menu.
    """

    def __init__(self, lost: Mapping[str, tuple[KnownValues, float]]) -> None:
        told = (
            f"{field} is known of {now.known} of {now.possible} ({last:.0%} before)"
            for field, (now, last) in lost.items()
        )
        super().__init__(f"{', '.join(told)}: the source probably renamed a field", list(lost))
