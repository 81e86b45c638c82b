"""Find the cause of a missing response: the route, a proxy that blocks the host, a certificate or the host."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

import httpx2

from storecrawl.egress.routes import Route, RouteProtocol

FORBIDDEN = "403"
# The HTTP library's texts for rejected, missing or unsupported proxy credentials; the first two are of
# SOCKS5.
CREDENTIALS = ("Invalid username/password", "Requested ", "407")


class Blame(Enum):
    """The cause of a failure; WALL is a proxy's 403 for a tunnel, which makes the host unreachable that way."""

    ROUTE = auto()
    WALL = auto()
    CERTIFICATE = auto()
    HOST = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class SendFailure:
    """The cause of a failure, and a text that names the route without credentials."""

    blame: Blame
    text: str


def failure_of(error: httpx2.HTTPError, route: Route) -> SendFailure:
    """Distinguish a failed route from an upstream that does not respond."""
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, httpx2.ProxyError):
        return _proxy_failure(str(error), route)
    if problem := certificate_problem(error):
        return SendFailure(blame=Blame.CERTIFICATE, text=f"{problem}, over route {route.label}")
    is_proxied = route.protocol is not RouteProtocol.DIRECT
    if is_proxied and isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return SendFailure(blame=Blame.ROUTE, text=f"{route.label}: {text}")
    return SendFailure(blame=Blame.HOST, text=text)


def certificate_problem(error: BaseException) -> str | None:
    """Return the certificate problem that caused an error, if any."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
    return None


def _proxy_failure(message: str, route: Route) -> SendFailure:
    if message.startswith(FORBIDDEN):
        return SendFailure(blame=Blame.WALL, text=f"the proxy {route.label}, which rejects the tunnel")
    if message.startswith(CREDENTIALS):
        return SendFailure(
            blame=Blame.ROUTE, text=f"{route.label}: the proxy rejects the route's credentials ({message})"
        )
    return SendFailure(blame=Blame.ROUTE, text=f"{route.label}: the proxy cannot reach the host: {message}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
