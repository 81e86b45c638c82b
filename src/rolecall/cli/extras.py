"""The door to what comes with an extra of the package, and may not be installed.

The command line works without it, and does not wait for its imports where it is not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from socket import socket
from types import ModuleType
from typing import Protocol, cast

from rolecall.app import App
from rolecall.config import Settings
from rolecall.model.errors import ConfigError

__all__ = ["Hashes", "Serves", "can_serve", "load_passwords", "load_server"]

NEEDED: Sequence[str] = ("argon2", "fastapi", "httptools", "limits", "uvicorn")


class Serves(Protocol):
    """What `rolecall.web.server` offers."""

    def serve(self, dsn: str, app: App, settings: Settings, listener: socket) -> None:
        """Answer requests until SIGTERM, SIGINT or SIGHUP."""


class Hashes(Protocol):
    """What `rolecall.web.passwords` offers."""

    def hash_password(self, password: str) -> str:
        """Return what is stored of a password. Raises ConfigError for one that is too short or too long."""


def can_serve() -> bool:
    """True if everything is installed that the API needs."""
    return all(map(find_spec, NEEDED))


def load_server() -> Serves:
    """Return the module that serves the API. Raises ConfigError where its extra is not installed."""
    return cast("Serves", _load("rolecall.web.server"))


def load_passwords() -> Hashes:
    """Return the module that makes passwords unreadable. Raises ConfigError where its extra is not installed."""
    return cast("Hashes", _load("rolecall.web.passwords"))


def _load(module: str) -> ModuleType:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        problem = f"this needs the extra `web` ({', '.join(missing)} missing): pip install 'rolecall[web]'"
        raise ConfigError(problem, variable="rolecall[web]")
    return import_module(module)
