"""The SQL of the lake: what it reads, and which days it must write."""

from __future__ import annotations

from storecrawl.statements import Statements

LAKE = Statements.of("storecrawl.lake.sql", "lake")
ROWS = Statements.of("storecrawl.lake.sql", "rows")
