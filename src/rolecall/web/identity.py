"""Says who sent a request: by the API key that it shows, by the session that a login has opened (a cookie keeps it,
or a program shows it as it would a key), or by this machine's token, in place of which a browser keeps until when it
lets in, signed with the token.

What came through another server, which may let a whole network in, is refused where only this machine may come in.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import NoReturn

from fastapi import Request

from rolecall.config import AccessSettings
from rolecall.model.access import ApiKey, Caller, Scope
from rolecall.model.audit import Actor
from rolecall.model.errors import DatabaseError, NotAllowed, NotAuthenticated
from rolecall.service.services import Services
from rolecall.web.http import local_stamp, refuse_embedding, refuse_other_sites, require_own_site, session_secret
from rolecall.web.rates import Rates
from rolecall.web.state import address_of, note_refusal, state_of

__all__ = [
    "ForwardingGuard",
    "KeysAndSessions",
    "LocalToken",
    "OpenToAll",
    "person",
    "session_of",
]

SESSION = "rs_"
PROXY_PREFIX = "x-forwarded"
PROXY_HEADERS = frozenset(
    {
        "cf-connecting-ip",
        "client-ip",
        "fastly-client-ip",
        "forwarded",
        "forwarded-for",
        "true-client-ip",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-envoy-external-address",
        "x-original-forwarded-for",
        "x-real-ip",
    }
)
UNTRUSTED_PROXY = (
    "Requests come through %s, whose word for where they come from is not taken: see ROLECALL_FORWARDED_BY"
)
# What many servers speak to those behind them unless they are told otherwise, and no client of today.
OLD_HTTP = "1.0"
log = logging.getLogger("rolecall.web")


class OpenToAll:
    """For a server that only this machine can reach: everybody may do everything, but no page of another site."""

    asks = False
    takes_token = False

    def __init__(self, settings: AccessSettings, forwarding: ForwardingGuard) -> None:
        self._trusted = settings.trusted_origins
        self._forwarding = forwarding

    async def identify(self, request: Request) -> Caller:
        """Return who asks. Raises NotAllowed."""
        self._forwarding.check(request)
        refuse_other_sites(request, self._trusted)
        refuse_embedding(request, self._trusted)
        return _local(request)

    async def still_knows(self, _request: Request) -> bool:
        """Everybody may stay."""
        return True

    async def exchange(self, _request: Request, _shown: str) -> str | None:
        """Nobody needs a token here."""
        return None


class KeysAndSessions:
    """For a server that asks: nobody comes in unknown, nor too often.

    With `local`, whoever shows this machine's token may do everything: only this machine can reach the server then,
    and what came through another server is refused.
    """

    asks = True

    def __init__(
        self, settings: AccessSettings, rates: Rates, forwarding: ForwardingGuard, local: LocalToken | None = None
    ) -> None:
        self._trusted = settings.trusted_origins
        self._idle = settings.session_idle_minutes * 60
        self._forwarding = forwarding
        self._rates = rates
        self._local = local
        self._one_by_one = asyncio.Lock()

    @property
    def takes_token(self) -> bool:
        """Whether this machine's token lets in."""
        return self._local is not None

    async def identify(self, request: Request) -> Caller:
        """Return who asks. Raises NotAuthenticated, NotAllowed, TooManyRequests."""
        self._forwarding.check(request)
        by_cookie = "authorization" not in request.headers
        if by_cookie:
            refuse_other_sites(request, self._trusted)
        caller = await self._find(request)
        if caller is None:
            await self._refuse(request)
        if by_cookie:
            require_own_site(request, self._trusted)
        await self._rates.count_request(caller)
        return caller

    async def still_knows(self, request: Request) -> bool:
        """Whether who sent a request that is still being answered would be let in now."""
        try:
            return await self._find(request) is not None
        except DatabaseError:
            return True  # nobody can say that he would not

    async def exchange(self, request: Request, shown: str) -> str | None:
        """Return what a browser keeps in place of this machine's token; None for what is not the token.

        Raises NotAllowed, TooManyRequests.
        """
        self._forwarding.check(request)
        if self._local is not None and self._local.fits(shown):
            return self._local.stamp()
        note_refusal(request, "keys.refused", {"what": "the local token"})
        await self._rates.count_attempt(address_of(request))
        return None

    async def _find(self, request: Request) -> Caller | None:
        """Find out who shows something that lets in at this moment."""
        # Whoever guesses there costs the database one connection at most, and keeps out nobody who has a right key.
        worn_out = await self._rates.is_worn_out(address_of(request))
        async with self._one_by_one if worn_out else nullcontext():
            if "authorization" in request.headers:
                return await self._by_key(request, _bearer(request))
            return await self._by_session(request, session_secret(request)) or self._by_stamp(request)

    async def _by_key(self, request: Request, secret: str) -> Caller | None:
        if self._local is not None and self._local.fits(secret):
            return _local(request)
        if secret.startswith(SESSION):
            return await self._by_session(request, secret)
        key = await _look_up(request).keys.find(secret)
        return None if key is None else _program(key, request)

    async def _by_session(self, request: Request, secret: str | None) -> Caller | None:
        found = None if secret is None else await _look_up(request).people.find(secret, idle=self._idle)
        if found is None:
            return None
        return replace(person(found.name, found.scope, request), person_id=found.id)

    def _by_stamp(self, request: Request) -> Caller | None:
        kept = local_stamp(request)
        return _local(request) if self._local and kept and self._local.lets_in(kept) else None

    async def _refuse(self, request: Request) -> NoReturn:
        shown = request.headers.get("authorization")
        if shown is None and session_secret(request) is None:
            raise NotAuthenticated("show an API key (`Authorization: Bearer rk_...`), or log in")
        note_refusal(request, "sessions.refused" if shown is None else "keys.refused")
        await self._rates.count_attempt(address_of(request))
        if shown is None:
            raise NotAuthenticated("the session has ended: log in again")
        if not _bearer(request):
            raise NotAuthenticated("show an API key as `Authorization: Bearer rk_...`")
        raise NotAuthenticated("the API key is unknown, expired or revoked")


def person(name: str, scope: Scope, request: Request) -> Caller:
    """The caller that a person is."""
    return Caller(actor=Actor(name=name, via="api", origin=address_of(request)), scope=scope)


def session_of(request: Request) -> str | None:
    """The secret of the session that a request shows, as a program does or by its cookie."""
    if "authorization" not in request.headers:
        return session_secret(request)
    secret = _bearer(request)
    return secret if secret.startswith(SESSION) else None


def _bearer(request: Request) -> str:
    """The secret that a program shows; empty where it shows something else."""
    scheme, _, secret = request.headers["authorization"].partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _local(request: Request) -> Caller:
    return replace(person("local", Scope.ADMIN, request), is_local=True)


def _program(key: ApiKey, request: Request) -> Caller:
    # No person's name holds brackets, so that nobody can look like a program in the audit log.
    actor = Actor(name=f"{key.name} (API key {key.id})", via="api", origin=address_of(request))
    return Caller(actor=actor, scope=key.scope, person_id=key.person_id, key_id=key.id)


def _look_up(request: Request) -> Services:
    return state_of(request).services(person("nobody", Scope.READ, request))


class ForwardingGuard:
    """Refuses what came through another server where only this machine may come in; warns of it where it may."""

    def __init__(self, *, only_direct: bool) -> None:
        self._only_direct = only_direct
        self._has_warned = False

    def check(self, request: Request) -> None:
        """Raise NotAllowed for what says that it came through another server; that nothing says so proves nothing.

        Where requests may come through one, warn once of a server in front whose word is not taken.
        """
        if self._only_direct and _came_through(request):
            raise NotAllowed("this came through another server, which others may reach: serve with --auth keys")
        if not self._has_warned and _came_from_elsewhere(request):
            self._has_warned = True
            log.warning(UNTRUSTED_PROXY, address_of(request))


def _came_through(request: Request) -> bool:
    return request.scope.get("http_version") == OLD_HTTP or any(
        name in PROXY_HEADERS or name.startswith(PROXY_PREFIX) for name in request.headers
    )


def _came_from_elsewhere(request: Request) -> bool:
    named = request.headers.get("x-forwarded-for")
    return named is not None and (address_of(request) or "") not in named


class LocalToken:
    """The token of this machine, and what is made of it; a new token ends all that was made of the old one."""

    def __init__(self, token: str, seconds: int) -> None:
        self._token = token.encode("ascii")
        self.seconds = seconds

    def fits(self, shown: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(_bytes(shown), self._token)

    def stamp(self) -> str:
        """Make what a browser keeps; it lets in for `seconds`."""
        return self._signed(str(int(time.time()) + self.seconds))

    def lets_in(self, kept: str) -> bool:
        """Whether a browser may come in with what it has kept."""
        until = kept.partition(".")[0]
        genuine = hmac.compare_digest(_bytes(kept), _bytes(self._signed(until)))
        return genuine and int(until) > time.time()

    def _signed(self, until: str) -> str:
        return f"{until}.{hmac.digest(self._token, _bytes(until), hashlib.sha256).hex()}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
