"""Outgoing routes: a proxy, or this machine's own address, and the location of its exit."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import httpx2

from storecrawl.egress.errors import RouteError


class RouteProtocol(StrEnum):
    """The protocol of a route; DIRECT means no proxy."""

    DIRECT = "direct"
    HTTP = "http"
    HTTPS = "https"
    SOCKS5 = "socks5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An active route as a worker uses it. No text made of it contains the password.

    `forbidden_with` are the profiles of the 403 responses since its last success. It is paused for
    `paused_for` seconds after it was loaded, unless that is None.
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
        return label(self.protocol, self.host, self.port)

    def forwards(self, url: httpx2.URL) -> bool:
        """Return whether the proxy reads requests to this address itself. Others only see a tunnel."""
        return url.scheme == "http" and self.protocol in {RouteProtocol.HTTP, RouteProtocol.HTTPS}

    def proxy(self, trust: ssl.SSLContext, environment: Mapping[str, str] = os.environ) -> httpx2.Proxy | None:
        """Return the proxy for the HTTP client; None for the direct route.

        Raises RouteError for an unset environment variable and for an invalid address.
        """
        if self.protocol is RouteProtocol.DIRECT:
            return None
        if self.password_env and self.password_env not in environment:
            raise RouteError(f"the environment variable {self.password_env!r} is not set")
        password = environment[self.password_env] if self.password_env else self.password
        try:
            return httpx2.Proxy(
                self.label,
                auth=(self.username, password or "") if self.username else None,
                ssl_context=trust if self.protocol is RouteProtocol.HTTPS else None,
            )
        except httpx2.InvalidURL as error:
            raise RouteError(f"{self.label} is not a valid address: {error}") from error


DIRECT = Route(id=0, protocol=RouteProtocol.DIRECT)


def label(protocol: str, host: str | None, port: int | None) -> str:
    """Return a route's name for display."""
    return protocol if host is None else f"{protocol}://{f'[{host}]' if ':' in host else host}:{port}"
