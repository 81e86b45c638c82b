"""Support for features that need the processes, signals and locks of Linux and macOS."""

from __future__ import annotations

import sys

from rolecall.model.errors import ConfigError


def refuse_windows(what: str, instead: str) -> None:
    """Raise ConfigError on Windows: `what` needs another system, and what to do `instead`. Do nothing elsewhere."""
    if sys.platform == "win32":
        raise ConfigError(f"{what} needs Linux or macOS: {instead}", variable="platform", value=sys.platform)
