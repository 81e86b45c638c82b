"""The SQL of the catalog: one file of named statements per noun."""

from __future__ import annotations

from storecrawl.statements import Statements

ANSWERS = Statements.of("storecrawl.catalog.sql", "answers")
BRANDS = Statements.of("storecrawl.catalog.sql", "brands")
CHANGES = Statements.of("storecrawl.catalog.sql", "changes")
CITIES = Statements.of("storecrawl.catalog.sql", "cities")
DARK = Statements.of("storecrawl.catalog.sql", "dark")
DECISIONS = Statements.of("storecrawl.catalog.sql", "decisions")
DETAILS = Statements.of("storecrawl.catalog.sql", "details")
HISTORY = Statements.of("storecrawl.catalog.sql", "history")
IMAGES = Statements.of("storecrawl.catalog.sql", "images")
INVESTIGATIONS = Statements.of("storecrawl.catalog.sql", "investigations")
LOCATIONS = Statements.of("storecrawl.catalog.sql", "locations")
MENUS = Statements.of("storecrawl.catalog.sql", "menus")
PAYLOADS = Statements.of("storecrawl.catalog.sql", "payloads")
PRODUCT_HISTORY = Statements.of("storecrawl.catalog.sql", "product_history")
PRODUCT_SEARCH = Statements.of("storecrawl.catalog.sql", "product_search")
PRODUCTS = Statements.of("storecrawl.catalog.sql", "products")
QUALITY = Statements.of("storecrawl.catalog.sql", "quality")
RAW_MENUS = Statements.of("storecrawl.catalog.sql", "raw_menus")
RELATIONS = Statements.of("storecrawl.catalog.sql", "relations")
REFUSALS = Statements.of("storecrawl.catalog.sql", "refusals")
STATISTICS = Statements.of("storecrawl.catalog.sql", "statistics")
STORED_ROWS = Statements.of("storecrawl.catalog.sql", "stored_rows")
STORES = Statements.of("storecrawl.catalog.sql", "stores")
VARIANTS = Statements.of("storecrawl.catalog.sql", "variants")
WEBHOOKS = Statements.of("storecrawl.catalog.sql", "webhooks")
