"""Says who sent a request: by the API key that it shows, or by the session that a login has opened."""

from __future__ import annotations

from typing import NoReturn

from fastapi import Request

from rolecall.config import AccessSettings
from rolecall.model.access import ApiKey, Caller, Scope
from rolecall.model.deeds import Actor
from rolecall.model.errors import NotAllowed, NotAuthenticated
from rolecall.service.services import Services
from rolecall.web.cookies import session_secret
from rolecall.web.origins import refuse_other_sites, require_own_site
from rolecall.web.rates import Rates
from rolecall.web.state import address_of, state_of

__all__ = ["KeysAndSessions", "OpenToAll", "person"]

FORWARDED = ("forwarded", "x-forwarded-for")


class OpenToAll:
    """For a server that only this machine can reach: everybody may do everything, but no page of another site."""

    asks = False

    def __init__(self, settings: AccessSettings) -> None:
        self._trusted = settings.trusted_origins

    async def identify(self, request: Request) -> Caller:
        """Return who asks. Raises NotAllowed."""
        refuse_other_sites(request, self._trusted)
        if any(name in request.headers for name in FORWARDED):
            raise NotAllowed("this came through another server, which others may reach: serve with --auth keys")
        return person("local", Scope.ADMIN, request)


class KeysAndSessions:
    """For a server that others can reach: nobody comes in unknown, nor too often."""

    asks = True

    def __init__(self, settings: AccessSettings, rates: Rates) -> None:
        self._trusted = settings.trusted_origins
        self._rates = rates

    async def identify(self, request: Request) -> Caller:
        """Return who asks. Raises NotAuthenticated, NotAllowed, TooManyRequests."""
        shown = request.headers.get("authorization")
        caller = await (self._by_session(request) if shown is None else self._by_key(request, shown))
        await self._rates.count_request(caller)
        return caller

    async def _by_key(self, request: Request, shown: str) -> Caller:
        scheme, _, secret = shown.partition(" ")
        if scheme.lower() != "bearer":
            await self._refuse(request, "show an API key as `Authorization: Bearer rk_...`")
        key = await _look_up(request).keys.find(secret.strip())
        if key is None:
            await self._refuse(request, "the API key is unknown, expired or revoked")
        return _program(key, request)

    async def _by_session(self, request: Request) -> Caller:
        refuse_other_sites(request, self._trusted)
        secret = session_secret(request)
        if secret is None:
            raise NotAuthenticated("show an API key (`Authorization: Bearer rk_...`), or log in")
        found = await _look_up(request).people.find(secret)
        if found is None:
            await self._refuse(request, "the session has ended: log in again")
        require_own_site(request, self._trusted)
        return person(found.name, found.scope, request)

    async def _refuse(self, request: Request, problem: str) -> NoReturn:
        await self._rates.count_attempt(address_of(request))
        raise NotAuthenticated(problem)


def person(name: str, scope: Scope, request: Request) -> Caller:
    """The caller that a person is."""
    return Caller(actor=Actor(name=name, via="api", origin=address_of(request)), scope=scope)


def _program(key: ApiKey, request: Request) -> Caller:
    # No person's name holds brackets, so that nobody can look like a program in the audit log.
    actor = Actor(name=f"{key.name} (API key {key.id})", via="api", origin=address_of(request))
    return Caller(actor=actor, scope=key.scope)


def _look_up(request: Request) -> Services:
    return state_of(request).services(person("nobody", Scope.READ, request))
