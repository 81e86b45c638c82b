"""The SQL of the egress: one statement a file in `sql/`."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def statement(name: str) -> bytes:
    """The text of `sql/<name>.sql`."""
    return resources.files("storecrawl.egress").joinpath("sql", f"{name}.sql").read_bytes()
