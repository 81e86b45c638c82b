"""Convert errors of the catalog and the payload files to problem documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from rolecall.web import RequestRefused
from storecrawl.catalog import (
    CatalogError,
    ChangesDropped,
    LocationRefused,
    NoPayload,
    UnknownBrand,
    UnknownLocation,
    UnknownPayload,
    UnknownPosition,
    UnknownProduct,
    UnknownRawMenu,
    UnknownStore,
)
from storecrawl.catalog.normalize import NotAMenu
from storecrawl.egress import RouteError
from storecrawl.egress.repository import RouteExists, UnknownRoute
from storecrawl.payloads import (
    PayloadBomb,
    PayloadCorrupt,
    PayloadError,
    PayloadExpired,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadTooLarge,
    PayloadUnreachable,
)

# A damaged file stays damaged and is not a server error; only the last of these is.
DAMAGES: Final[Mapping[type[Exception], tuple[int, str]]] = {
    PayloadMissing: (410, "payload-missing"),
    PayloadExpired: (410, "payload-expired"),
    PayloadCorrupt: (409, "payload-corrupt"),
    PayloadOutsideRoot: (409, "payload-outside-root"),
    PayloadTooLarge: (409, "payload-too-large"),
    PayloadBomb: (409, "payload-bomb"),
    NotAMenu: (409, "payload-no-menu"),
    PayloadUnreachable: (503, "payload-unreachable"),
}
UNKNOWN: Final[Mapping[type[Exception], str]] = {
    UnknownBrand: "brand-not-found",
    UnknownLocation: "location-not-found",
    UnknownPayload: "payload-not-found",
    UnknownProduct: "product-not-found",
    UnknownRawMenu: "raw-menu-not-found",
    UnknownStore: "store-not-found",
    NoPayload: "payload-not-found",
}


@contextmanager
def catalog_errors_as_problems() -> Iterator[None]:
    """Respond with 404 for an unknown object, 409 if its state does not allow this, and 410 for lost changes."""
    try:
        yield
    except ChangesDropped as error:
        raise RequestRefused(str(error), status=410, kind="changes-dropped") from error
    except UnknownPosition as error:
        raise RequestRefused(str(error), status=409, kind="position-unknown") from error
    except LocationRefused as refusal:
        raise RequestRefused(str(refusal), status=409, kind="location-refused") from refusal
    except CatalogError as error:
        raise RequestRefused(str(error), status=404, kind=UNKNOWN[type(error)]) from error


@contextmanager
def route_errors_as_problems() -> Iterator[None]:
    """Respond with 404 for an unknown route, 409 for an existing one, 422 for an invalid one."""
    try:
        yield
    except UnknownRoute as error:
        raise RequestRefused(str(error), status=404, kind="route-not-found") from error
    except RouteExists as error:
        raise RequestRefused(str(error), status=409, kind="route-stands") from error
    except RouteError as error:
        raise RequestRefused(str(error), status=422, kind="invalid-route") from error


@contextmanager
def payload_errors_as_problems(payload_id: int, what: str = "crawl payload") -> Iterator[None]:
    """Respond with 409, 410 or 503 for a problem with a payload's file, without its path."""
    try:
        yield
    except (PayloadError, NotAMenu) as error:
        status, kind = DAMAGES[type(error)]
        raise RequestRefused(f"{what} {payload_id}: {error.reason}", status=status, kind=kind) from error
