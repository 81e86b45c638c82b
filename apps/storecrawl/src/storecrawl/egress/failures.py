"""Why no answer came: the route, its proxy that lets nobody through, a certificate, or the host."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

import httpx2

from storecrawl.egress.routes import Route, RouteProtocol

__all__ = ["Blame", "SendFailure", "certificate_problem", "failure_of"]

FORBIDDEN = "403"
# How the HTTP library tells of a proxy that wants other credentials, or any, or none; the first two of SOCKS5.
CREDENTIALS = ("Invalid username/password", "Requested ", "407")


class Blame(Enum):
    """Whose fault it is; WALL is a proxy that says 403 to a tunnel: a host that is out of reach by that way."""

    ROUTE = auto()
    WALL = auto()
    CERTIFICATE = auto()
    HOST = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class SendFailure:
    """Whose fault it is, in words that name the route and no credential."""

    blame: Blame
    text: str


def failure_of(error: httpx2.HTTPError, route: Route) -> SendFailure:
    """Tell a route that leads nowhere from an upstream that does not answer."""
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, httpx2.ProxyError):
        return _of_proxy(str(error), route)
    if problem := certificate_problem(error):
        return SendFailure(blame=Blame.CERTIFICATE, text=f"{problem}, by the route {route.label}")
    is_proxied = route.protocol is not RouteProtocol.DIRECT
    if is_proxied and isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return SendFailure(blame=Blame.ROUTE, text=f"{route.label}: {text}")
    return SendFailure(blame=Blame.HOST, text=text)


def certificate_problem(error: BaseException) -> str | None:
    """What is wrong with a certificate, if that is what an error comes from."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
    return None


def _of_proxy(message: str, route: Route) -> SendFailure:
    if message.startswith(FORBIDDEN):
        return SendFailure(blame=Blame.WALL, text=f"the proxy {route.label}, which opens no tunnel")
    if message.startswith(CREDENTIALS):
        return SendFailure(
            blame=Blame.ROUTE, text=f"{route.label}: the proxy does not take the route's credentials ({message})"
        )
    return SendFailure(blame=Blame.ROUTE, text=f"{route.label}: the proxy gave no way: {message}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
