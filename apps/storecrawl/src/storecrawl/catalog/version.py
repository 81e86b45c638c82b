"""The version of everything between a document and its rows."""

from __future__ import annotations

from functools import cache
from typing import Final

from storecrawl.fingerprint import fingerprint_of

# The code that reads documents, and the modules, statements and tables that turn a normalized menu into rows.
READERS: Final = ("catalog/normalize", "platforms")
MODULES: Final = ("history", "refresh", "refresh_rows", "repeats", "refusals")
STATEMENTS: Final = ("brands", "details", "products", "history", "refusals", "variants")
TABLES: Final = ("05_products", "06_history")


@cache
def catalog_version() -> str:
    """Return a text that identifies the code that reads menus and turns them into rows."""
    modules = [f"catalog/{name}.py" for name in MODULES]
    statements = [f"catalog/sql/{name}.sql" for name in STATEMENTS]
    tables = [f"schema/{name}.sql" for name in TABLES]
    return fingerprint_of(*READERS, *modules, *statements, *tables)
