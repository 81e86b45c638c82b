"""The SQL of the catalog: one file of named statements per noun."""

from __future__ import annotations

from storecrawl.statements import Statements

ANSWERS = Statements.of("storecrawl.catalog.sql", "answers")
BRANDS = Statements.of("storecrawl.catalog.sql", "brands")
CITIES = Statements.of("storecrawl.catalog.sql", "cities")
DARK = Statements.of("storecrawl.catalog.sql", "dark")
DECISIONS = Statements.of("storecrawl.catalog.sql", "decisions")
DETAILS = Statements.of("storecrawl.catalog.sql", "details")
IMAGES = Statements.of("storecrawl.catalog.sql", "images")
INVESTIGATIONS = Statements.of("storecrawl.catalog.sql", "investigations")
LOCATIONS = Statements.of("storecrawl.catalog.sql", "locations")
PAYLOADS = Statements.of("storecrawl.catalog.sql", "payloads")
PRODUCTS = Statements.of("storecrawl.catalog.sql", "products")
QUALITY = Statements.of("storecrawl.catalog.sql", "quality")
RAW_MENUS = Statements.of("storecrawl.catalog.sql", "raw_menus")
REFUSALS = Statements.of("storecrawl.catalog.sql", "refusals")
SNAPSHOTS = Statements.of("storecrawl.catalog.sql", "snapshots")
STATISTICS = Statements.of("storecrawl.catalog.sql", "statistics")
STORED_ROWS = Statements.of("storecrawl.catalog.sql", "stored_rows")
STORES = Statements.of("storecrawl.catalog.sql", "stores")
VARIANTS = Statements.of("storecrawl.catalog.sql", "variants")
