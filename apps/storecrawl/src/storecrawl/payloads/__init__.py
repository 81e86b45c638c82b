"""Crawl payload files: fetched documents, gzipped, each complete and checksummed or not visible.

A file is in its storage (a folder, or a bucket), whole and for good, before a row may name it; its name is made of
numbers only. A reader unpacks within bounds and compares the checksum. A file without a row is harmless and
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
from storecrawl.payloads.opened import Limits, OpenedPayload
from storecrawl.payloads.store import PayloadStore, WrittenPayload

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
