"""The error that the bootstrap raises on purpose."""

from __future__ import annotations


class SetupError(Exception):
    """`.venv` cannot be made; the message says what was tried and what to do."""
