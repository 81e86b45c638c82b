"""The version of everything between a document and its rows."""

from __future__ import annotations

from functools import cache
from typing import Final

from storecrawl.catalog.normalize import fingerprint
from storecrawl.fingerprint import fingerprint_of

# The modules, statements and tables that turn a normalized menu into rows.
MODULES: Final = ("refresh", "refresh_rows", "repeats", "refusals")
STATEMENTS: Final = ("brands", "details", "products", "refusals", "snapshots", "variants")
TABLES: Final = ("05_products", "06_snapshots")


@cache
def catalog_version() -> str:
    """Return a text that identifies the code of the normalizer, and all that turns its menus into rows."""
    modules = [f"catalog/{name}.py" for name in MODULES]
    statements = [f"catalog/sql/{name}.sql" for name in STATEMENTS]
    tables = [f"schema/{name}.sql" for name in TABLES]
    return f"{fingerprint()}{fingerprint_of(*modules, *statements, *tables)}"
