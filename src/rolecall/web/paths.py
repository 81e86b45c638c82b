"""Where a request leads, below the path at which this application is mounted."""

from __future__ import annotations

import re

from starlette.types import Scope

__all__ = ["API", "own_address", "path_below", "root_of"]

API = "/api/"
# Browsers take a backslash for a slash, pass over tabs and line ends, and two slashes lead to another host.
OWN = re.compile(r"/(?!/)[^\\\x00-\x20\x7f]*")


def root_of(scope: Scope) -> str:
    """The path at which this application is mounted, without a slash at its end; empty at the top of a host."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def path_below(scope: Scope) -> str:
    """The path of a request as our own routes are written."""
    path: str = scope["path"]
    root = root_of(scope)
    below = path.removeprefix(root)
    return below if below.startswith("/") else "/" if path == root else path


def own_address(root: str, wanted: str) -> str:
    """The path on this host that somebody says he wants to see; the first page for what could be anything else."""
    below = wanted.removeprefix(root)
    return wanted if wanted.startswith(root) and OWN.fullmatch(below) else f"{root}/"
