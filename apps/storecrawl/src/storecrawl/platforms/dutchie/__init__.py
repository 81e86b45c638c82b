"""The upstream client, the only part of the crawler that calls the upstream."""

from __future__ import annotations

from storecrawl.platforms.dutchie.client import UpstreamClient
from storecrawl.platforms.dutchie.menu import FetchedMenu, Kind, menu_of
from storecrawl.platforms.dutchie.options import ClientOptions, MenuMode
from storecrawl.platforms.dutchie.records import City, Geometry, Location, PlatformStore
from storecrawl.platforms.dutchie.resolution import Resolution, Way, slug_of
from storecrawl.platforms.errors import (
    Blocked,
    ForbiddenUrl,
    ForeignRedirect,
    Malformed,
    NoEntryPoint,
    RateLimited,
    RouteFailed,
    SchemaDrift,
    TooLarge,
    Truncated,
    Unavailable,
    UnknownStore,
    Untrusted,
    UpstreamError,
    UpstreamFailure,
)
from storecrawl.platforms.raw_pages import RawPage, read_raw_pages, write_raw_pages

__all__ = [
    "Blocked",
    "City",
    "ClientOptions",
    "FetchedMenu",
    "ForbiddenUrl",
    "ForeignRedirect",
    "Geometry",
    "Kind",
    "Location",
    "Malformed",
    "MenuMode",
    "NoEntryPoint",
    "PlatformStore",
    "RateLimited",
    "RawPage",
    "Resolution",
    "RouteFailed",
    "SchemaDrift",
    "TooLarge",
    "Truncated",
    "Unavailable",
    "UnknownStore",
    "Untrusted",
    "UpstreamClient",
    "UpstreamError",
    "UpstreamFailure",
    "Way",
    "menu_of",
    "read_raw_pages",
    "slug_of",
    "write_raw_pages",
]
