"""A command that runs in this process sets up its logging: to a stream that is closed when the test is over."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Put the handlers of the root, and the levels of the root and of Rolecall back after each test."""
    root, ours = logging.getLogger(), logging.getLogger("rolecall")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    # Not the attribute: loggers remember for which levels they are on until this is called.
    for logger, level in zip((root, ours), levels, strict=True):
        logger.setLevel(level)
