"""Lazy access to the HTTP server, whose extra may not be installed and whose imports take time."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from socket import socket
from typing import Protocol, cast

from rolecall.app import App
from rolecall.config import Settings
from rolecall.extras import require


class Serves(Protocol):
    """The part of `rolecall.web.server` that the command line uses."""

    def serve(self, dsn: str, app: App, settings: Settings, listener: socket) -> None:
        """Serve requests until SIGTERM, SIGINT or SIGHUP."""

    def serve_pools(self, pools: Mapping[str, str], app: App, settings: Settings, listener: socket) -> None:
        """Do the same for several pools."""


class Hashes(Protocol):
    """The part of `rolecall.web.access.passwords` that the command line uses."""

    def hash_password(self, password: str) -> str:
        """Return the hash to store. Raises ConfigError if the password is too short or too long."""


def load_server() -> Serves:
    """Import the HTTP server. Raises ConfigError if its extra is not installed."""
    require("web")
    return cast("Serves", import_module("rolecall.web.server"))


def load_passwords() -> Hashes:
    """Import the password functions. Raises ConfigError if their extra is not installed."""
    require("web")
    return cast("Hashes", import_module("rolecall.web.access.passwords"))
