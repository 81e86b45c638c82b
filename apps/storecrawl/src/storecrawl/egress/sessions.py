"""Sessions: the connections and cookies of one identity, which is a route with a profile.

`Steps` receives the progress of a request from the HTTP library. `trusted_certificates` returns the trusted
certificates: the system's, or those of SSL_CERT_FILE or SSL_CERT_DIR if set.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections import OrderedDict
from collections.abc import Collection, Sequence
from random import Random
from typing import Any

import httpx2

from rolecall import ConfigError
from storecrawl.egress.bodies import ACCEPTED
from storecrawl.egress.failures import certificate_problem
from storecrawl.egress.profiles import Profile
from storecrawl.egress.routes import Route, RouteProtocol

LOCATION_HEADERS = {"Time-Zone": "timezone"}
"""The headers that depend on a route's location. The language is the same for all."""
TUNNEL_STANDS = "proxy.start_tls.started"
SOCKS_REACHED, SOCKS_REFUSED = "socks.connect_tcp.complete", "socks.setup_socks5_connection.failed"
VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class Session:
    """The connections and cookies of a route under one profile. It is closed when retired and not in use.

    Raises RouteError for a route that cannot be used here.
    """

    def __init__(self, route: Route, profile: Profile, trust: ssl.SSLContext) -> None:
        self.route = route
        self.profile = profile
        # The HTTP library logs the password of a SOCKS proxy.
        logging.getLogger("httpcore2.socks").setLevel(logging.INFO)
        self.http = httpx2.AsyncClient(
            headers=profile.headers | {"Accept-Encoding": ACCEPTED} | _location(route),
            proxy=route.proxy(trust),
            verify=trust,
            # The sender limits the duration of the whole exchange.
            timeout=None,
            # The route decides on the proxy, so those of the environment must be ignored.
            trust_env=False,
            follow_redirects=False,
        )
        self._users = 0
        self._is_retired = False

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the caller reads and closes the response. Raises httpx2.HTTPError.

        Failures of the proxy, or on the way to it, raise ProxyError where they can be recognized.
        """
        steps = request.extensions["trace"] = Steps()
        try:
            return await self.http.send(request, stream=True)
        except httpx2.HTTPError as error:
            problem = certificate_problem(error)
            if problem and self.route.protocol is RouteProtocol.HTTPS and not steps.is_in_tunnel:
                raise httpx2.ProxyError(f"its certificate is not trusted: {problem}") from error
            raise
        except Exception as error:
            # The HTTP library raises all kinds of errors if a proxy ends the handshake early or uses another
            # protocol.
            if self.route.protocol is RouteProtocol.SOCKS5:
                raise httpx2.ProxyError("it does not speak SOCKS5") from error
            raise
        finally:
            await steps.clean_up()

    def begin(self) -> None:
        self._users += 1

    async def end(self) -> None:
        self._users -= 1
        await self._close_if_done()

    async def retire(self) -> None:
        """Close the session as soon as it has no users."""
        self._is_retired = True
        await self._close_if_done()

    async def _close_if_done(self) -> None:
        if self._is_retired and self._users <= 0:
            await self.http.aclose()


class Sessions:
    """One session per route. The least recently used are closed if there are more than `most`."""

    def __init__(self, profiles: Sequence[Profile], *, trust: ssl.SSLContext, most: int, random: Random) -> None:
        self._profiles = profiles
        self._trust = trust
        self._most = most
        self._random = random
        self._by_route: OrderedDict[int, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_route)

    async def of(self, route: Route, forbidden: Collection[str]) -> Session:
        """Return the route's session with the caller as a user, who must end it; a new one has no forbidden profile.

        Raises RouteError for a route that cannot be used here.
        """
        known = self._by_route.get(route.id)
        session = known if known is not None and known.route == route else self._new(route, forbidden)
        # No await from here on: of two sessions created at once, one would be lost.
        self._by_route[route.id] = session
        self._by_route.move_to_end(route.id)
        session.begin()
        if known is not None and known is not session:
            await known.retire()
        while len(self._by_route) > self._most:
            await self.forget(next(iter(self._by_route)))
        return session

    async def forget(self, route_id: int, session: Session | None = None) -> None:
        """Retire the route's session, if it is still the given one, so that the next has another profile."""
        current = self._by_route.get(route_id)
        if current is not None and session in {None, current}:
            del self._by_route[route_id]
            await current.retire()

    async def close(self) -> None:
        for session in self._by_route.values():
            await session.http.aclose()
        self._by_route.clear()

    def _new(self, route: Route, forbidden: Collection[str]) -> Session:
        allowed = [profile for profile in self._profiles if profile.name not in forbidden]
        return Session(route, self._random.choice(allowed or list(self._profiles)), self._trust)


def _location(route: Route) -> dict[str, str]:
    values = {header: getattr(route, name) for header, name in LOCATION_HEADERS.items()}
    return {header: value for header, value in values.items() if value}


class Steps:
    """Receives the steps of one request."""

    def __init__(self) -> None:
        self.is_in_tunnel = False
        self._socks: Any = None
        self._is_refused = False

    async def __call__(self, step: str, details: dict[str, Any]) -> None:
        if step == TUNNEL_STANDS:
            self.is_in_tunnel = True
        elif step == SOCKS_REACHED:
            self._socks = details["return_value"]
        elif step == SOCKS_REFUSED:
            self._is_refused = True

    async def clean_up(self) -> None:
        """Close the connection to a SOCKS proxy that rejected the handshake: the HTTP library leaves it open."""
        if self._is_refused:
            await self._socks.aclose()


def trusted_certificates() -> ssl.SSLContext:
    """Return the trusted certificates for upstreams and proxies. Raises ConfigError for a file without any."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        variable = next((name for name in VARIABLES if os.environ.get(name)), VARIABLES[0])
        problem = f"cannot read certificates from it: {error}"
        raise ConfigError(problem, variable=variable, value=os.environ.get(variable)) from error
