"""The SQL of the egress: named statements about routes."""

from __future__ import annotations

from storecrawl.statements import Statements

ROUTES = Statements.of("storecrawl.egress.sql", "routes")
