"""The crawler's own migrations, in the form that Rolecall's migrator takes."""

from __future__ import annotations

from importlib.resources import files

from rolecall import Migrations

MIGRATIONS = Migrations(name="storecrawl", folder=files("storecrawl.migrations"))
