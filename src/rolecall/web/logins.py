"""Lets people in by name and password, and out again."""

from __future__ import annotations

import logging

from fastapi import Request

from rolecall.config import AccessSettings
from rolecall.model.access import Credentials, Scope, Session
from rolecall.model.errors import NotAuthenticated
from rolecall.service.people import WRONG_LOGIN
from rolecall.service.services import Services
from rolecall.web.forwarding import Way
from rolecall.web.identity import person
from rolecall.web.origins import refuse_other_sites
from rolecall.web.passwords import Passwords
from rolecall.web.rates import Rates
from rolecall.web.state import address_of, state_of

__all__ = ["Logins"]

log = logging.getLogger("rolecall.web")


class Logins:
    """Tells nobody whether the name or the password was wrong, neither in words nor by the time that it takes."""

    def __init__(self, settings: AccessSettings, rates: Rates, way: Way) -> None:
        self._way = way
        self._seconds = settings.session_minutes * 60
        self._trusted = settings.trusted_origins
        self._rates = rates
        self._passwords = Passwords()

    @property
    def seconds(self) -> int:
        """How long a session lives."""
        return self._seconds

    async def open(self, request: Request, name: str, password: str) -> Session:
        """Open a session. Raises NotAuthenticated, TooManyRequests, and NotAllowed for another site's page."""
        self._way.look(request)
        refuse_other_sites(request, self._trusted)
        await self._rates.count_attempt(address_of(request))
        who = await _services(request, "nobody").people.begin_login(name)
        fits = await self._passwords.fits(password, None if who is None else who.password_hash)
        if who is None or not fits:
            # Without the name: people type passwords there.
            log.warning("A login failed", extra={"origin": address_of(request)})
            raise NotAuthenticated(WRONG_LOGIN)
        return await self._open(request, name, who)

    async def close(self, request: Request, name: str, secret: str) -> None:
        """End a session."""
        await _services(request, name).people.close_session(secret)

    async def _open(self, request: Request, name: str, who: Credentials) -> Session:
        services = _services(request, name)
        return await services.people.open_session(name, who, seconds=self._seconds, origin=address_of(request))


def _services(request: Request, name: str) -> Services:
    return state_of(request).services(person(name, Scope.READ, request))
