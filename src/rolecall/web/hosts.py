"""Lets a request in only under a name that this server has: where everybody may come in, a page whose name was made to
point here (DNS rebinding) must not.
"""

from __future__ import annotations

from collections.abc import Collection
from socket import socket

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rolecall.web.problems import problem

__all__ = ["LOCAL_NAMES", "KnownHosts", "host_of", "name_of"]

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def host_of(listener: socket) -> str:
    """The address at which a socket listens, as a request names it."""
    address = str(listener.getsockname()[0])
    return f"[{address}]" if ":" in address else address


class KnownHosts:
    """Answers 421 to a request for any other host."""

    def __init__(self, application: ASGIApp, hosts: Collection[str]) -> None:
        self._application = application
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and name_of(Headers(scope=scope).get("host", "")) not in self._hosts:
            answer = problem(421, "unknown-host", f"this server is called {' or '.join(sorted(self._hosts))}")
            await answer(scope, receive, send)
        else:
            await self._application(scope, receive, send)


def name_of(host: str) -> str:
    """The host that a request names, without the port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()
