"""The catalog: what stores, products, variants and prices are known, and how a crawl payload becomes them.

`normalize` turns a document into a `Menu`; `apply_menu` brings it into Postgres. All functions that take a
connection run in the caller's transaction and never commit.
"""

from __future__ import annotations

from storecrawl.catalog.diff import FieldChange, MenuDiff, ProductChange, diff_payloads
from storecrawl.catalog.discovery import DiscoveryReport, discover_locations, promote_locations
from storecrawl.catalog.errors import CatalogError, DifferentPayload, ImplausibleMenu, UnknownPayload
from storecrawl.catalog.payload_rows import StoredPayload, find_payload, known_paths, record_payload
from storecrawl.catalog.plausibility import Plausibility
from storecrawl.catalog.refresh import RefreshReport, apply_menu
from storecrawl.catalog.store_records import DiscoveredStore, read_store, read_stores
from storecrawl.catalog.stores import DueStore, stores_due
from storecrawl.catalog.views import refresh_views

__all__ = [
    "CatalogError",
    "DifferentPayload",
    "DiscoveredStore",
    "DiscoveryReport",
    "DueStore",
    "FieldChange",
    "ImplausibleMenu",
    "MenuDiff",
    "Plausibility",
    "ProductChange",
    "RefreshReport",
    "StoredPayload",
    "UnknownPayload",
    "apply_menu",
    "diff_payloads",
    "discover_locations",
    "find_payload",
    "known_paths",
    "promote_locations",
    "read_store",
    "read_stores",
    "record_payload",
    "refresh_views",
    "stores_due",
]
