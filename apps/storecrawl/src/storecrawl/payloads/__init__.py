"""Crawl payload files: fetched documents, compressed, each complete and checksummed or not visible.

The name of a file is the checksum of its document, so that equal documents of a store share one file. A
document that resembles an earlier one is stored as the difference to it. A file is durably in its storage (a
folder or a bucket) before a row names it. Readers decompress within limits and compare the checksum. A file
that no row needs is harmless and is removed after a day.
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
from storecrawl.payloads.names import store_of_path
from storecrawl.payloads.opened import OpenedPayload
from storecrawl.payloads.packing import Base
from storecrawl.payloads.store import MENU_RATIO, PayloadStore, WrittenPayload
from storecrawl.storage.gunzip import Limits

__all__ = [
    "MENU_RATIO",
    "Base",
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
    "store_of_path",
]
