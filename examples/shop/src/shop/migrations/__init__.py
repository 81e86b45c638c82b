"""The migrations of the shop's tables, applied together with Rolecall's: `rolecall migrate --app shop.worker:app`."""

from __future__ import annotations

from importlib.resources import files

from rolecall import Migrations

MIGRATIONS = Migrations(name="shop", folder=files("shop.migrations"))
