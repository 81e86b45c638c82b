"""A command that runs in this process sets up its logging: to a stream that is closed when the test is over."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Put the handlers and the level of the root back after each test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    # Not the attribute: loggers remember for which levels they are on until this is called.
    root.setLevel(level)
