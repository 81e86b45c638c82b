"""What needs processes, signals and locks as Linux and macOS have them says so where they are missing."""

from __future__ import annotations

import sys

from rolecall.model.errors import ConfigError

__all__ = ["refuse_windows"]


def refuse_windows(what: str, instead: str) -> None:
    """Raise ConfigError on Windows: what does not run there, and what to do instead. Elsewhere nothing happens."""
    if sys.platform == "win32":
        raise ConfigError(f"{what} needs Linux or macOS: {instead}", variable="platform", value=sys.platform)
