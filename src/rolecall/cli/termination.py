"""SIGTERM as an exception, so that whatever a command holds is given back on the way out."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class Terminated(BaseException):
    """Somebody asked this process to end; not an Exception, because nothing may catch it and go on."""


@contextmanager
def unwinding_on_sigterm() -> Iterator[None]:
    """Raise Terminated in the main thread on SIGTERM, where nobody inside takes the signal for himself."""
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated
