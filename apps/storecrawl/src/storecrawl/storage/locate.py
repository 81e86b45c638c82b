"""Open the storage of a URL: folders of this machine, or a bucket."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from rolecall import ConfigError
from storecrawl.storage import FolderStorage, Storage

try:
    from storecrawl.storage.bucket import BucketStorage
except ImportError:
    _BUCKETS = None
else:
    _BUCKETS = BucketStorage


def open_storage(url: str, data_dir: Path, part: str) -> Storage:
    """Return the storage for one kind of files: below the prefix of `url` (s3://bucket/prefix), or in a folder.

    Does not connect to the bucket yet. Raises ConfigError if the library for buckets is not installed.
    """
    if not url:
        return FolderStorage(data_dir / part)
    if _BUCKETS is None:
        problem = "the library for buckets is missing: pip install storecrawl[s3]"
        raise ConfigError(problem, variable="STORECRAWL_STORE", value=url)
    place = urlsplit(url)
    return _BUCKETS(place.netloc, f"{place.path.strip('/')}/{part}".strip("/"))
