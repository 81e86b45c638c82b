"""What a test starts is to hear SIGHUP, also where the whole run is not."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def heeded_hangups() -> None:
    """Under nohup the signal is ignored, and would be by every command that a test starts."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
