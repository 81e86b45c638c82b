"""Product images: fetched from the addresses in products, checked, and stored by store and product.

`ImageClient` only calls public addresses, `inspect` checks that the content is an image, `ImageStore` stores it
next to the crawl payloads, `resize` makes smaller copies.
"""

from __future__ import annotations

from storecrawl.images.addresses import Addresses
from storecrawl.images.client import FetchedImage, ImageClient
from storecrawl.images.errors import ImageError, ImageGone, ImageRefused, ImageUnavailable
from storecrawl.images.pixels import Fit, Format, ImageFacts, ImageLimits, Rendition, inspect, resize
from storecrawl.images.store import ImagePlace, ImageStore

__all__ = [
    "Addresses",
    "FetchedImage",
    "Fit",
    "Format",
    "ImageClient",
    "ImageError",
    "ImageFacts",
    "ImageGone",
    "ImageLimits",
    "ImagePlace",
    "ImageRefused",
    "ImageStore",
    "ImageUnavailable",
    "Rendition",
    "inspect",
    "resize",
]
