"""Crawl payload files: fetched documents, gzipped on disk, each complete and checksummed or not visible.

A file is written under a temporary name, synced, renamed and its folder synced, before a row may name it; its
name is made of numbers only. A reader opens it step by step below the root, refuses links, unpacks within
bounds and compares the checksum. A file without a row is harmless and collected after a day.
"""

from __future__ import annotations

from storecrawl.payloads.errors import (
    PayloadCorrupt,
    PayloadError,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadTooLarge,
)
from storecrawl.payloads.store import PayloadStore, WrittenPayload
from storecrawl.payloads.unpacking import Limits

__all__ = [
    "Limits",
    "PayloadCorrupt",
    "PayloadError",
    "PayloadMissing",
    "PayloadOutsideRoot",
    "PayloadStore",
    "PayloadTooLarge",
    "WrittenPayload",
]
