"""The `storecrawl` command: each module holds the verbs of one noun, `connect` how they reach database and files."""

from __future__ import annotations

from storecrawl.cli.commands import main, run

__all__ = ["main", "run"]
