"""From the settings to the places that keep files: folders of this machine, or a bucket."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from rolecall import ConfigError
from storecrawl.images import ImageStore
from storecrawl.payloads import Limits, PayloadStore
from storecrawl.settings import CrawlSettings
from storecrawl.storage import FolderStorage, Storage

try:
    from storecrawl.storage.bucket import BucketStorage
except ImportError:
    _BUCKETS = None
else:
    _BUCKETS = BucketStorage

__all__ = ["image_store", "open_storage", "payload_store"]

PAYLOADS = "payloads"
IMAGES = "images"


def payload_store(settings: CrawlSettings) -> PayloadStore:
    """The crawl payload files, read within the limits of the settings. Raises ConfigError as `open_storage` does."""
    storage = open_storage(settings.store, settings.data_dir, PAYLOADS)
    return PayloadStore(storage, limits=Limits(max_bytes=settings.payload_bytes))


def image_store(settings: CrawlSettings) -> ImageStore:
    """The images, beside the crawl payload files. Raises ConfigError as `open_storage` does."""
    return ImageStore(open_storage(settings.store, settings.data_dir, IMAGES))


def open_storage(url: str, data_dir: Path, part: str) -> Storage:
    """One part of what is kept: below a bucket's prefix where `url` names one (s3://bucket/prefix), else in a folder.

    Nothing is asked of the bucket yet. Raises ConfigError where the library for buckets is not installed.
    """
    if not url:
        return FolderStorage(data_dir / part)
    if _BUCKETS is None:
        problem = "it takes the library for buckets: install storecrawl[s3]"
        raise ConfigError(problem, variable="STORECRAWL_STORE", value=url)
    place = urlsplit(url)
    return _BUCKETS(place.netloc, f"{place.path.strip('/')}/{part}".strip("/"))
