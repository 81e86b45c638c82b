"""Versions of code: results for the same document change only with the files that produce them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable

DIGEST_BYTES = 8


@cache
def fingerprint_of(*places: str) -> str:
    """Return a text that identifies the release and the content of files, including comments.

    A place is a path below the package: of a file, or of a folder, which means its Python modules at any depth.
    """
    digest = hashlib.blake2b(metadata.version("storecrawl").encode(), digest_size=DIGEST_BYTES)
    for place in places:
        for file in _files(files("storecrawl").joinpath(place)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(place: Traversable) -> Iterator[Traversable]:
    if place.is_file():
        yield place
    else:
        for inner in sorted(place.iterdir(), key=lambda each: each.name):
            if inner.is_dir() or inner.name.endswith(".py"):
                yield from _files(inner)
