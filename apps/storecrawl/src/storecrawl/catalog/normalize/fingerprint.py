"""Which normalizer this is."""

from __future__ import annotations

from storecrawl.fingerprint import fingerprint_of


def fingerprint() -> str:
    """Tell this normalizer from any other."""
    return fingerprint_of(__package__)
