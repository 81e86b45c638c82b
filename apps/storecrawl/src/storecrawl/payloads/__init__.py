"""Crawl payload files: fetched documents, gzipped, each complete and checksummed or not visible.

A file is durably in its storage (a folder or a bucket) before a row names it; its name only consists of
numbers. Readers decompress within limits and compare the checksum. A file without a row is harmless and is
removed after a day.
"""

from __future__ import annotations

from storecrawl.payloads.errors import (
    PayloadBomb,
    PayloadCorrupt,
    PayloadError,
    PayloadExpired,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadTooLarge,
    PayloadUnreachable,
)
from storecrawl.payloads.opened import OpenedPayload
from storecrawl.payloads.store import PayloadStore, WrittenPayload
from storecrawl.storage.gunzip import Limits

__all__ = [
    "Limits",
    "OpenedPayload",
    "PayloadBomb",
    "PayloadCorrupt",
    "PayloadError",
    "PayloadExpired",
    "PayloadMissing",
    "PayloadOutsideRoot",
    "PayloadStore",
    "PayloadTooLarge",
    "PayloadUnreachable",
    "WrittenPayload",
]
