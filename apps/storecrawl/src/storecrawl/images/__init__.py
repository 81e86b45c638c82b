"""Product images: copies of their original bytes, fetched from the addresses in products, by store and product.

`ImageClient` only calls public addresses, `suffix_of` recognizes the format, and `ImageStore` stores the copy next
to the crawl payloads.
"""

from __future__ import annotations

from storecrawl.images.addresses import Addresses
from storecrawl.images.client import ImageClient
from storecrawl.images.errors import ImageError, ImageRefused, ImageUnavailable
from storecrawl.images.formats import suffix_of
from storecrawl.images.store import ImagePlace, ImageStore

__all__ = [
    "Addresses",
    "ImageClient",
    "ImageError",
    "ImagePlace",
    "ImageRefused",
    "ImageStore",
    "ImageUnavailable",
    "suffix_of",
]
