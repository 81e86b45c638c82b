"""What goes wrong in a storage, as what goes wrong with a crawl payload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from storecrawl.payloads.errors import (
    PayloadCorrupt,
    PayloadError,
    PayloadMissing,
    PayloadOutsideRoot,
    PayloadUnreachable,
)
from storecrawl.storage import (
    ObjectDamaged,
    ObjectMissing,
    ObjectOutsideRoot,
    StorageError,
)

MEANINGS: Final[Mapping[type[StorageError], type[PayloadError]]] = {
    ObjectMissing: PayloadMissing,
    ObjectDamaged: PayloadCorrupt,
    ObjectOutsideRoot: PayloadOutsideRoot,
}


@contextmanager
def as_payload_errors() -> Iterator[None]:
    """Raise the PayloadError that a StorageError means."""
    try:
        yield
    except StorageError as error:
        raise MEANINGS.get(type(error), PayloadUnreachable)(error.path, error.reason) from error
