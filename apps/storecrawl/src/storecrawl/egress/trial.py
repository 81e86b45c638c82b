"""Try a route with one request to the upstream, under a profile."""

from __future__ import annotations

import asyncio
import time
from random import Random

import httpx2
import msgspec

from storecrawl.egress.failures import Blame, failure_of
from storecrawl.egress.profiles import load_profiles
from storecrawl.egress.routes import Route
from storecrawl.egress.sessions import Session, trusted_certificates

TRIAL_SECONDS = 15.0
FORBIDDEN, WANTS_CREDENTIALS, SERVER_ERRORS = 403, 407, 500


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a trial: the response's status, or the failure."""

    route: str
    profile: str
    seconds: float
    status: int | None = None
    error: str | None = None

    @property
    def is_well(self) -> bool:
        """Whether the route can be used there: any response but a rejection or a server error."""
        refusals = {FORBIDDEN, WANTS_CREDENTIALS}
        return self.status is not None and self.status not in refusals and self.status < SERVER_ERRORS


async def try_route(route: Route, url: str) -> Trial:
    """Request an address through a route. Raises RouteError for one that cannot be used here, ConfigError."""
    session = Session(route, Random().choice(load_profiles()), trusted_certificates())
    began = time.monotonic()
    status, problem = await _status_or_problem(session, url)
    seconds = round(time.monotonic() - began, 3)
    return Trial(route=route.label, profile=session.profile.name, seconds=seconds, status=status, error=problem)


async def _status_or_problem(session: Session, url: str) -> tuple[int | None, str | None]:
    try:
        async with asyncio.timeout(TRIAL_SECONDS), session.http as http:
            response = await session.send(http.build_request("GET", url))
            await response.aclose()
            return response.status_code, None
    except TimeoutError:
        return None, f"no response within {TRIAL_SECONDS:g} s"
    except httpx2.HTTPError as error:
        failure = failure_of(error, session.route)
        return (FORBIDDEN if failure.blame is Blame.WALL else None), failure.text
