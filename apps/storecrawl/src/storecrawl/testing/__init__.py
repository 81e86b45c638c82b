"""Checks for code that extends the crawler."""

from __future__ import annotations

from storecrawl.testing.conformance import PlatformConformance, PlatformWorld

__all__ = ["PlatformConformance", "PlatformWorld"]
