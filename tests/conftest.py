"""What every test leaves as it found it."""

from __future__ import annotations

from tests.logs import restored_logging

__all__ = ["restored_logging"]
