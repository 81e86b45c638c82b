"""What can be wrong with a crawl payload file.

PayloadError
├── PayloadMissing       no such file
├── PayloadCorrupt       not what was written: cut short, damaged, another content
├── PayloadOutsideRoot   a path that leads out of the store's folder, or through a link
└── PayloadTooLarge      more than the reader is allowed to unpack
"""

from __future__ import annotations


class PayloadError(Exception):
    """A crawl payload file cannot be used; `path` is the path as it was asked for."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"crawl payload {path!r}: {reason}")
        self.path = path
        self.reason = reason


class PayloadMissing(PayloadError):
    """There is no such file."""


class PayloadCorrupt(PayloadError):
    """The file does not hold what was once written."""


class PayloadOutsideRoot(PayloadError):
    """The path leaves the folder of crawl payloads, or passes through a link."""


class PayloadTooLarge(PayloadError):
    """The file unpacks to more than the reader allows."""
