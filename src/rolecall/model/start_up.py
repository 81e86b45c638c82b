"""Starts a process without garbage collections: nearly all objects that imports create stay until it ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def pause_collections() -> None:
    """Collect no garbage until `resume_collections`."""
    gc.disable()


def resume_collections() -> None:
    """Collect garbage again, except among the objects that exist now. Does nothing if it is collected already."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


@contextmanager
def without_collections() -> Iterator[None]:
    """Collect no garbage during the block, nor later among the objects that exist at its end."""
    pause_collections()
    try:
        yield
    finally:
        resume_collections()
