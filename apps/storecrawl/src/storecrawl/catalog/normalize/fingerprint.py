"""The version of the normalizer."""

from __future__ import annotations

from storecrawl.fingerprint import fingerprint_of


def fingerprint() -> str:
    """Return a text that identifies this version of the normalizer."""
    return fingerprint_of("catalog/normalize")
