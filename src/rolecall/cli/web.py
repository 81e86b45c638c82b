"""The door to the HTTP server, whose extra may not be installed.

The command line works without it, and does not wait for its imports where it is not asked for.
"""

from __future__ import annotations

from importlib import import_module
from socket import socket
from typing import Protocol, cast

from rolecall.app import App
from rolecall.config import Settings
from rolecall.extras import require

__all__ = ["Hashes", "Serves", "load_passwords", "load_server"]


class Serves(Protocol):
    """What `rolecall.web.server` offers."""

    def serve(self, dsn: str, app: App, settings: Settings, listener: socket) -> None:
        """Answer requests until SIGTERM, SIGINT or SIGHUP."""


class Hashes(Protocol):
    """What `rolecall.web.passwords` offers."""

    def hash_password(self, password: str) -> str:
        """Return what is stored of a password. Raises ConfigError for one that is too short or too long."""


def load_server() -> Serves:
    """Return the module that serves the API. Raises ConfigError where its extra is not installed."""
    require("web")
    return cast("Serves", import_module("rolecall.web.server"))


def load_passwords() -> Hashes:
    """Return the module that makes passwords unreadable. Raises ConfigError where its extra is not installed."""
    require("web")
    return cast("Hashes", import_module("rolecall.web.passwords"))
