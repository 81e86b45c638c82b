"""Objects in an S3-compatible bucket, below a prefix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import S3Store

from storecrawl.storage.endpoint import endpoint_of
from storecrawl.storage.errors import ObjectDamaged, ObjectExists, ObjectMissing, StorageUnreachable
from storecrawl.storage.folder import parts_of
from storecrawl.storage.interface import TEMPORARY_PREFIX, OpenedObject, StoredObject

CHUNK = 64 * 1024
# No object has this name.
NO_OBJECT = f"{TEMPORARY_PREFIX}look"
LISTED_AT_ONCE = 1_000
CONNECT_TIMEOUT = timedelta(seconds=5)
TIMEOUT = timedelta(seconds=60)
RETRIES = 3
RETRY_TIMEOUT = timedelta(seconds=30)


class BucketStorage:
    """A storage in a bucket. Puts are atomic, so there are no partial objects to sweep.

    Endpoint, region and credentials come from the AWS_* variables.
    """

    def __init__(self, bucket: str, prefix: str, *, environment: Mapping[str, str] = os.environ) -> None:
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            client_options={
                "allow_http": endpoint_of(environment).startswith("http://"),
                "connect_timeout": CONNECT_TIMEOUT,
                "timeout": TIMEOUT,
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": RETRY_TIMEOUT},
        )

    def put(self, path: str, content: bytes) -> None:
        """Store a new object. Raises ObjectExists without changing the existing one, StorageUnreachable."""
        parts_of(path)
        with _storage_errors(path):
            obstore.put(self._store, path, content, mode="create", use_multipart=False)

    def replace(self, path: str, file: Path) -> None:
        """Upload a file, a large one in parts; the object is replaced when all of them have arrived."""
        parts_of(path)
        with _storage_errors(path):
            obstore.put(self._store, path, file)

    def open(self, path: str) -> OpenedObject:
        parts_of(path)
        with _storage_errors(path):
            return OpenedBucketObject(self._store, path, obstore.get(self._store, path))

    def exists(self, path: str) -> bool:
        parts_of(path)
        try:
            with _storage_errors(path):
                obstore.head(self._store, path)
        except ObjectMissing:
            return False
        return True

    def delete(self, path: str) -> None:
        parts_of(path)
        with _storage_errors(path):
            obstore.delete(self._store, path)

    def look(self) -> None:
        """Raise StorageUnreachable if the bucket does not respond, or forbids to look for an object."""
        self.exists(NO_OBJECT)

    def list(self) -> Iterator[StoredObject]:
        """Yield all objects below the prefix, a thousand per request."""
        with _storage_errors(""):
            for batch in obstore.list(self._store, chunk_size=LISTED_AT_ONCE):
                for each in batch:
                    yield StoredObject(path=each["path"], modified_at=each["last_modified"])


class OpenedBucketObject:
    """An object as it was when opened: a replaced one is detected by its tag."""

    def __init__(self, store: S3Store, path: str, answer: obstore.GetResult) -> None:
        self._store = store
        self._path = path
        self._answer: obstore.GetResult | None = answer
        self._tag = answer.meta["e_tag"]
        self.size = answer.meta["size"]

    def pieces(self) -> Iterator[bytes]:
        """Yield the content from its beginning; the first call uses the response of the opening."""
        with _storage_errors(self._path):
            answer, self._answer = self._answer or self._request_object(), None
            for piece in answer.stream(min_chunk_size=CHUNK):
                yield bytes(piece)

    def close(self) -> None:
        """Close an unread response."""
        self._answer = None

    def _request_object(self) -> obstore.GetResult:
        return obstore.get(self._store, self._path, options={"if_match": self._tag} if self._tag else {})


@contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    """Convert the store's errors without their text, which contains request headers and documents."""
    try:
        yield
    except (NotFoundError, FileNotFoundError):
        raise ObjectMissing(path, "no such object") from None
    except AlreadyExistsError:
        raise ObjectExists(path, "an object with this name exists") from None
    except PreconditionError:
        raise ObjectDamaged(path, "it was replaced while it was read") from None
    except BaseError as error:
        raise StorageUnreachable(path, f"the bucket did not respond correctly ({type(error).__name__})") from None
