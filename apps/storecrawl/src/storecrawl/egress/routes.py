"""Outgoing routes: a proxy, or this machine's own address, and where in the world it comes out."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import httpx2

from storecrawl.egress.errors import RouteError


class RouteProtocol(StrEnum):
    """How a route is spoken to; DIRECT is no proxy at all."""

    DIRECT = "direct"
    HTTP = "http"
    HTTPS = "https"
    SOCKS5 = "socks5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An active route as a worker uses it; the password is in no text that is made of it.

    `forbidden_with` names the profiles of the answers 403 since its last success; it is paused for `paused_for` seconds
    from when it was loaded, None if it is not.
    """

    id: int
    protocol: RouteProtocol
    host: str | None = None
    port: int | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_env: str | None = None
    city: str | None = None
    state: str | None = None
    country: str | None = None
    timezone: str | None = None
    forbidden_with: tuple[str, ...] = field(default=(), compare=False)
    paused_for: float | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """What a person calls it: protocol and address, without credentials."""
        return label(self.protocol, self.host, self.port)

    def forwards(self, url: httpx2.URL) -> bool:
        """Whether a proxy reads and answers requests to this address itself; through others it only sees a tunnel."""
        return url.scheme == "http" and self.protocol in {RouteProtocol.HTTP, RouteProtocol.HTTPS}

    def proxy(self, trust: ssl.SSLContext, environment: Mapping[str, str] = os.environ) -> httpx2.Proxy | None:
        """How the HTTP client is told; None for the direct one.

        Raises RouteError for a variable that is not set, and for an address that is none.
        """
        if self.protocol is RouteProtocol.DIRECT:
            return None
        if self.password_env and self.password_env not in environment:
            raise RouteError(f"the environment has no variable {self.password_env!r}")
        password = environment[self.password_env] if self.password_env else self.password
        try:
            return httpx2.Proxy(
                self.label,
                auth=(self.username, password or "") if self.username else None,
                ssl_context=trust if self.protocol is RouteProtocol.HTTPS else None,
            )
        except httpx2.InvalidURL as error:
            raise RouteError(f"{self.label} is no address: {error}") from error


DIRECT = Route(id=0, protocol=RouteProtocol.DIRECT)


def label(protocol: str, host: str | None, port: int | None) -> str:
    """What a person calls a route."""
    return protocol if host is None else f"{protocol}://{f'[{host}]' if ':' in host else host}:{port}"
