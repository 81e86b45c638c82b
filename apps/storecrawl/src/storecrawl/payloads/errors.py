"""What can be wrong with a crawl payload file.

PayloadError
├── PayloadMissing       no such file
├── PayloadExpired       removed by the retention policy
├── PayloadCorrupt       not what was written: cut short, damaged, another content
├── PayloadOutsideRoot   a path that leads out of the place, or through a link
├── PayloadTooLarge      more bytes than the reader is allowed to unpack
├── PayloadBomb          more bytes for each of the file's than any menu has
└── PayloadUnreachable   the place that keeps it does not answer; the only one that asking again may mend
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


class PayloadExpired(PayloadError):
    """The file was removed, as the retention policy says."""


class PayloadCorrupt(PayloadError):
    """The file does not hold what was once written."""


class PayloadOutsideRoot(PayloadError):
    """The path leaves the folder of crawl payloads, or passes through a link."""


class PayloadTooLarge(PayloadError):
    """The file unpacks to more than the reader allows."""


class PayloadBomb(PayloadError):
    """The file unpacks to a multiple of itself that no menu does."""


class PayloadUnreachable(PayloadError):
    """The place that keeps the files does not answer."""
