"""Makes processes that a test starts react to SIGHUP, even if the test run ignores it."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def heeded_hangups() -> None:
    """Under nohup the signal is ignored, and every command that a test starts would inherit that."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
