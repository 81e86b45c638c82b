"""Versions of code: results for the same document change only with the code of a package."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from importlib.resources import files

DIGEST_BYTES = 8


@cache
def fingerprint_of(package: str) -> str:
    """Return a text that identifies a package's code: the release and the text of its modules, including comments."""
    digest = hashlib.blake2b(metadata.version("storecrawl").encode(), digest_size=DIGEST_BYTES)
    modules = [file for file in files(package).iterdir() if file.name.endswith(".py")]
    for file in sorted(modules, key=lambda each: each.name):
        digest.update(file.read_bytes())
    return digest.hexdigest()
