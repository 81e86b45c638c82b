"""Sessions: what one identity sends with and keeps, a route's connections and cookies under one profile.

`Steps` hears from the HTTP library how far a request has come; `trusted` says whose certificates are believed: the
system's, or those of SSL_CERT_FILE or SSL_CERT_DIR where one is set.
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

__all__ = ["Session", "Sessions"]

LOCATION_HEADERS = {"Time-Zone": "timezone"}
"""What a route's location says in a request; the language is always the same, wherever it comes out."""
TUNNEL_STANDS = "proxy.start_tls.started"
SOCKS_REACHED, SOCKS_REFUSED = "socks.connect_tcp.complete", "socks.setup_socks5_connection.failed"
VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class Session:
    """Who asks, and with what; closed when nobody uses it any more after it was retired.

    Raises RouteError for a route that cannot be used here.
    """

    def __init__(self, route: Route, profile: Profile, trust: ssl.SSLContext) -> None:
        self.route = route
        self.profile = profile
        # The HTTP library writes a SOCKS proxy's password into its own log.
        logging.getLogger("httpcore2.socks").setLevel(logging.INFO)
        self.http = httpx2.AsyncClient(
            headers=profile.headers | {"Accept-Encoding": ACCEPTED} | _location(route),
            proxy=route.proxy(trust),
            verify=trust,
            # Whoever sends bounds the whole exchange.
            timeout=None,
            # A route is chosen, or there is none: a proxy from the environment would be another one.
            trust_env=False,
            follow_redirects=False,
        )
        self._users = 0
        self._is_retired = False

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; whoever gets the answer reads and closes it. Raises httpx2.HTTPError.

        What is wrong with the way to a proxy, or with the proxy itself, is a ProxyError wherever that can be told.
        """
        steps = request.extensions["trace"] = Steps()
        try:
            return await self.http.send(request, stream=True)
        except httpx2.HTTPError as error:
            problem = certificate_problem(error)
            if problem and self.route.protocol is RouteProtocol.HTTPS and not steps.is_in_tunnel:
                raise httpx2.ProxyError(f"its own certificate is not to be trusted: {problem}") from error
            raise
        except Exception as error:
            # The HTTP library lets all kinds out where a proxy ends the greeting early, or speaks something else.
            if self.route.protocol is RouteProtocol.SOCKS5:
                raise httpx2.ProxyError("it does not speak SOCKS5") from error
            raise
        finally:
            await steps.clean_up()

    def begin(self) -> None:
        """Somebody uses it."""
        self._users += 1

    async def end(self) -> None:
        """Somebody uses it no more."""
        self._users -= 1
        await self._close_if_done()

    async def retire(self) -> None:
        """Nobody else is to use it."""
        self._is_retired = True
        await self._close_if_done()

    async def _close_if_done(self) -> None:
        if self._is_retired and self._users <= 0:
            await self.http.aclose()


class Sessions:
    """One session a route, those least recently used given up when there are more than `most`."""

    def __init__(self, profiles: Sequence[Profile], *, trust: ssl.SSLContext, most: int, random: Random) -> None:
        self._profiles = profiles
        self._trust = trust
        self._most = most
        self._random = random
        self._by_route: OrderedDict[int, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_route)

    async def of(self, route: Route, forbidden: Collection[str]) -> Session:
        """Return the route's session in use by the caller, who ends it; a new one shows no forbidden profile.

        Raises RouteError for a route that cannot be used here.
        """
        known = self._by_route.get(route.id)
        session = known if known is not None and known.route == route else self._new(route, forbidden)
        # Nobody may come in between: of two that make a session at once, one would be lost.
        self._by_route[route.id] = session
        self._by_route.move_to_end(route.id)
        session.begin()
        if known is not None and known is not session:
            await known.retire()
        while len(self._by_route) > self._most:
            await self.forget(next(iter(self._by_route)))
        return session

    async def forget(self, route_id: int, session: Session | None = None) -> None:
        """Have the route begin anew with another profile, if the given session is still its."""
        current = self._by_route.get(route_id)
        if current is not None and session in {None, current}:
            del self._by_route[route_id]
            await current.retire()

    async def close(self) -> None:
        """Close everything."""
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
    """Hears of the steps of one request."""

    def __init__(self) -> None:
        self.is_in_tunnel = False
        self._socks: Any = None
        self._is_refused = False

    async def __call__(self, step: str, details: dict[str, Any]) -> None:
        """Take note of a step."""
        if step == TUNNEL_STANDS:
            self.is_in_tunnel = True
        elif step == SOCKS_REACHED:
            self._socks = details["return_value"]
        elif step == SOCKS_REFUSED:
            self._is_refused = True

    async def clean_up(self) -> None:
        """Close the connection to a SOCKS proxy that let nobody through: the HTTP library leaves it open."""
        if self._is_refused:
            await self._socks.aclose()


def trusted() -> ssl.SSLContext:
    """Whom to believe, of upstreams and of proxies. Raises ConfigError for a file that holds no certificates."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        variable = next((name for name in VARIABLES if os.environ.get(name)), VARIABLES[0])
        problem = f"no certificates can be read from it: {error}"
        raise ConfigError(problem, variable=variable, value=os.environ.get(variable)) from error
