"""Which code this is: what a package makes of a document can change with its code, and with nothing else."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from importlib.resources import files

DIGEST_BYTES = 8


@cache
def fingerprint_of(package: str) -> str:
    """Tell a package's code from any other: by the release and the text of its modules, comments included."""
    digest = hashlib.blake2b(metadata.version("storecrawl").encode(), digest_size=DIGEST_BYTES)
    modules = [file for file in files(package).iterdir() if file.name.endswith(".py")]
    for file in sorted(modules, key=lambda each: each.name):
        digest.update(file.read_bytes())
    return digest.hexdigest()
