"""The `storecrawl` command: one module per group of commands; `connect` opens the database and the files."""

from __future__ import annotations

from storecrawl.cli.commands import main, run

__all__ = ["main", "run"]
