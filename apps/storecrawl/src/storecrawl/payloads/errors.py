"""Errors of crawl payload files.

PayloadError
├── PayloadMissing       no such file
├── PayloadExpired       removed by the retention policy
├── PayloadCorrupt       not what was written: cut, damaged, another content
├── PayloadOutsideRoot   a path that leaves the root, or passes through a link
├── PayloadTooLarge      more decompressed bytes than the reader allows
├── PayloadBomb          a higher compression ratio than any menu has
└── PayloadUnreachable   the storage does not respond; the only error for which a retry may help
"""

from __future__ import annotations


class PayloadError(Exception):
    """A crawl payload file cannot be used; `path` is the requested path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"crawl payload {path!r}: {reason}")
        self.path = path
        self.reason = reason


class PayloadMissing(PayloadError):
    """No such file."""


class PayloadExpired(PayloadError):
    """The retention policy removed the file."""


class PayloadCorrupt(PayloadError):
    """The file does not have the content that was written."""


class PayloadOutsideRoot(PayloadError):
    """The path leaves the root of crawl payloads, or passes through a link."""


class PayloadTooLarge(PayloadError):
    """The decompressed file is larger than the reader allows."""


class PayloadBomb(PayloadError):
    """The file has a higher compression ratio than any menu."""


class PayloadUnreachable(PayloadError):
    """The storage does not respond."""
