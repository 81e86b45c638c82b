"""Dutchie, with its GraphQL API."""

from __future__ import annotations

from storecrawl.platforms.dutchie.client import UpstreamClient
from storecrawl.platforms.dutchie.menu import FetchedMenu, Kind, menu_of
from storecrawl.platforms.dutchie.options import ClientOptions, MenuMode
from storecrawl.platforms.dutchie.platform import Dutchie
from storecrawl.platforms.dutchie.records import City, Geometry, Location, PlatformStore
from storecrawl.platforms.dutchie.resolution import Resolution, Way, slug_of

__all__ = [
    "City",
    "ClientOptions",
    "Dutchie",
    "FetchedMenu",
    "Geometry",
    "Kind",
    "Location",
    "MenuMode",
    "PlatformStore",
    "Resolution",
    "UpstreamClient",
    "Way",
    "menu_of",
    "slug_of",
]
