"""The address of the S3 server in the usual AWS_* variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def endpoint_of(environment: Mapping[str, str]) -> str:
    """Return the URL of the server, or an empty text for the server of the region."""
    return next((environment[name] for name in ENDPOINTS if environment.get(name)), "")
