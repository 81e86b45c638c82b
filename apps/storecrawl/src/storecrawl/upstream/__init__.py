"""The upstream client: the one place of the crawler that talks to the upstream."""

from __future__ import annotations

from storecrawl.upstream.client import UpstreamClient
from storecrawl.upstream.errors import (
    Blocked,
    ForbiddenUrl,
    ForeignRedirect,
    RateLimited,
    SchemaDrift,
    TooLarge,
    Unavailable,
    UnknownStore,
    UpstreamError,
    UpstreamFailure,
)
from storecrawl.upstream.menu import RawMenu
from storecrawl.upstream.options import ClientOptions, MenuMode
from storecrawl.upstream.records import City, Geometry, Location, Store

__all__ = [
    "Blocked",
    "City",
    "ClientOptions",
    "ForbiddenUrl",
    "ForeignRedirect",
    "Geometry",
    "Location",
    "MenuMode",
    "RateLimited",
    "RawMenu",
    "SchemaDrift",
    "Store",
    "TooLarge",
    "Unavailable",
    "UnknownStore",
    "UpstreamClient",
    "UpstreamError",
    "UpstreamFailure",
]
