"""Product images: fetched from where products say, looked at before they are believed, kept by store and product.

`ImageClient` asks only addresses that the whole world may ask, `inspect` knows what is an image, `ImageStore` keeps it
in the storage that crawl payloads have too, `resized` makes it smaller for who looks at it.
"""

from __future__ import annotations

from storecrawl.images.addresses import Addresses
from storecrawl.images.client import FetchedImage, ImageClient
from storecrawl.images.errors import ImageError, ImageGone, ImageRefused, ImageUnavailable
from storecrawl.images.pixels import Fit, Format, ImageFacts, ImageLimits, Rendition, inspect, resized
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
    "resized",
]
