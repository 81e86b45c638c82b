"""A store of objects in a bucket of an S3-compatible service, below a prefix."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from rolecall.model.errors import ResultMissing

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
CONNECT_TIMEOUT = timedelta(seconds=5)
TIMEOUT = timedelta(seconds=60)
RETRIES = 3
RETRY_TIMEOUT = timedelta(seconds=30)


class BucketStore:
    """Endpoint, region and credentials come from the AWS_* variables. Errors do not contain them."""

    def __init__(self, bucket: str, prefix: str, *, environment: Mapping[str, str] = os.environ) -> None:
        self.url = f"s3://{bucket}/{prefix}".rstrip("/")
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            client_options={
                "allow_http": _is_plain(environment),
                "connect_timeout": CONNECT_TIMEOUT,
                "timeout": TIMEOUT,
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": RETRY_TIMEOUT},
        )

    def put(self, path: str, content: bytes) -> None:
        """Store an object. Raises ResultMissing."""
        try:
            obstore.put(self._store, path, content, use_multipart=False)
        except BaseError as error:
            raise self._unreachable(path, error) from None

    def get(self, path: str) -> bytes:
        """Read an object. Raises ResultMissing."""
        try:
            return bytes(obstore.get(self._store, path).bytes())
        except (BaseError, FileNotFoundError) as error:
            raise self._unreachable(path, error) from None

    def _unreachable(self, path: str, error: Exception) -> ResultMissing:
        # Only the error's class, because its text can contain request headers.
        return ResultMissing(f"the object {path} cannot be stored in or read from {self.url}: {type(error).__name__}")


def _is_plain(environment: Mapping[str, str]) -> bool:
    return next((environment[name] for name in ENDPOINTS if environment.get(name)), "").startswith("http://")
