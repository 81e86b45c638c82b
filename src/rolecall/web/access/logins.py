"""Logs people in with name and password, and out again, and changes their own passwords."""

from __future__ import annotations

import logging
from dataclasses import replace

from fastapi import Request

from rolecall.config import AccessSettings
from rolecall.model.errors import NotAllowed, NotAuthenticated, TooManyRequests
from rolecall.model.operator.access import Caller, Credentials, LoginAttempt, LoginLimits, Scope, Session
from rolecall.service.access import WRONG_LOGIN
from rolecall.service.services import Services
from rolecall.web.access.identity import ForwardingGuard, person
from rolecall.web.access.passwords import Passwords
from rolecall.web.http.rates import Rates, network_of
from rolecall.web.http.requests import browser_name, refuse_other_sites
from rolecall.web.state import address_of, note_refusal, state_of

# All unknown browsers together may fail this many times as often as one network.
STRANGERS = 10
log = logging.getLogger("rolecall.web")


class Logins:
    """Opens and closes sessions. Neither messages nor timing reveal whether the name or the password was wrong."""

    def __init__(self, settings: AccessSettings, rates: Rates, forwarding: ForwardingGuard) -> None:
        self._forwarding = forwarding
        self._seconds = settings.session_minutes * 60
        self._trusted = settings.trusted_origins
        self._rates = rates
        self._limits = LoginLimits(
            failures=settings.failed_logins,
            failures_of_strangers=STRANGERS * settings.failed_logins,
            lockout=settings.lockout,
        )
        self._passwords = Passwords()

    @property
    def seconds(self) -> int:
        """The lifetime of a session in seconds."""
        return self._seconds

    async def open(self, request: Request, name: str, password: str) -> Session:
        """Open a session. Raises NotAuthenticated, TooManyRequests, and NotAllowed for another site's page."""
        self._forwarding.check(request)
        refuse_other_sites(request, self._trusted)
        attempt, who = await self._verify(request, name, password)
        return await self._open(request, attempt, who)

    async def change_password(self, request: Request, caller: Caller, current: str, new: str) -> Session:
        """Change the caller's own password, end all sessions of the caller, and open a new one.

        Raises NotAuthenticated for a wrong current password, which counts as a failed login, ConfigError for a new one
        that is too short or too long, TooManyRequests, and NotAllowed for a caller who has not logged in by name.
        """
        if caller.person_id is None or caller.key_id is not None:
            raise NotAllowed("only a person who has logged in with a name can change a password, and only their own")
        password_hash = await self._passwords.hash(new)
        attempt, who = await self._verify(request, caller.actor.name, current)
        await state_of(request).services(caller).people.set_password(attempt.name, password_hash)
        return await self._open(request, attempt, replace(who, password_hash=password_hash))

    async def close(self, request: Request, caller: Caller) -> None:
        """End the session of the caller, if there is one."""
        if caller.session is not None:
            await state_of(request).services(caller).sessions.close(caller.session)

    async def _verify(self, request: Request, name: str, password: str) -> tuple[LoginAttempt, Credentials]:
        attempt = LoginAttempt(name=name, network=network_of(address_of(request)), browser=browser_name(request))
        try:
            await self._rates.count_attempt(address_of(request))
            who, is_last = await _services(request, "nobody").people.begin_login(attempt, self._limits)
        except TooManyRequests:
            note_refusal(request, "sessions.refused", {"why": "too often"})
            raise
        fits = await self._passwords.fits(password, None if who is None else who.password_hash)
        if who is None or not fits:
            self._note_failure(request, attempt, is_known=who is not None, is_last=is_last)
            raise NotAuthenticated(WRONG_LOGIN)
        return attempt, who

    def _note_failure(self, request: Request, attempt: LoginAttempt, *, is_known: bool, is_last: bool) -> None:
        # Unknown names are not recorded: people type passwords into the name field.
        about = {"name": attempt.name} if is_known else {}
        log.warning("A login failed", extra={"origin": address_of(request)})
        note_refusal(request, "sessions.refused", about)
        if is_last:
            note_refusal(request, "sessions.locked", about)

    async def _open(self, request: Request, attempt: LoginAttempt, who: Credentials) -> Session:
        services = _services(request, attempt.name)
        return await services.sessions.open(attempt, who, seconds=self._seconds, origin=address_of(request))


def _services(request: Request, name: str) -> Services:
    return state_of(request).services(person(name, Scope.READ, request))
