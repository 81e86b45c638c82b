"""Uniform errors for broken connections of broker clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

UVLOOP_SAYS = "the handler is closed"


@contextmanager
def cuts_as_os_errors() -> Iterator[None]:
    """Raise ConnectionResetError for a connection that broke between two writes.

    uvloop raises a RuntimeError for the second write, which no client library expects. With asyncio's own loop, the
    client notices the loss a moment later.
    """
    try:
        yield
    except RuntimeError as error:
        if UVLOOP_SAYS not in str(error):
            raise
        raise ConnectionResetError("the connection was lost") from error
