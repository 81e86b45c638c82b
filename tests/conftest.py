"""Every test that asks for `database` gets a migrated database of its own on a real Postgres."""

from __future__ import annotations

pytest_plugins = ["rolecall.testing.plugin"]
