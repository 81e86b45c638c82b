"""Identifies the sender of a request: by API key, by session, or by the local token of this machine.

Browsers keep the session in a cookie. Programs may send a person's session secret like an API key. With a local token,
cookies count under one host name only, `rolecall-<random>.localhost`: browsers send cookies to every port of a host,
and other programs listen at other ports of 127.0.0.1.

Where only this machine has access, requests that came through a proxy are rejected, because the proxy may serve a
whole network.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from base64 import b32encode
from contextlib import nullcontext
from dataclasses import replace
from typing import NoReturn

from fastapi import Request

from rolecall.config import AccessSettings
from rolecall.model.audit import Actor
from rolecall.model.errors import DatabaseError, NotAllowed, NotAuthenticated
from rolecall.model.operator.access import ApiKey, Caller, Scope, Session
from rolecall.service.access import digest_of, new_secret
from rolecall.service.services import Services
from rolecall.web.http.rates import Rates
from rolecall.web.http.requests import host_name, refuse_embedding, refuse_other_sites, require_own_site, session_secret
from rolecall.web.state import address_of, note_refusal, state_of

SESSION = "rs"
LOCAL_SESSION = "rsl"
# 60 bits.
NAME_LENGTH = 12
PROXY_PREFIX = "x-forwarded"
PROXY_HEADERS = frozenset({"forwarded", "forwarded-for", "via", "x-envoy-external-address", "x-original-forwarded-for"})
# As in CF-Connecting-IP, Fly-Client-IP, X-Azure-ClientIP, X-AppEngine-User-IP: the vendor is the prefix.
PROXY_SUFFIXES = ("client-ip", "clientip", "connecting-ip", "real-ip", "remote-ip", "source-ip", "user-ip")
UNTRUSTED_PROXY = "Requests come through the proxy %s, whose X-Forwarded-For is not trusted: see ROLECALL_FORWARDED_BY"
# Spoken by default by many proxies to their upstreams, and by no current client.
OLD_HTTP = "1.0"
log = logging.getLogger("rolecall.web")


class NoAuthentication:
    """For a server that only this machine can reach: all callers are admins, except pages of other sites."""

    has_sessions = False
    browser_host = None

    def __init__(self, settings: AccessSettings, forwarding: ForwardingGuard) -> None:
        self._trusted_networks = settings.trusted_origins
        self._forwarded_headers = forwarding

    async def identify(self, request: Request) -> Caller:
        self._forwarded_headers.check(request)
        refuse_other_sites(request, self._trusted_networks)
        refuse_embedding(request, self._trusted_networks)
        return _local(request)

    async def find(self, request: Request) -> Caller:
        return await self.identify(request)

    async def still_admits(self, _request: Request) -> bool:
        return True

    def takes_cookies(self, _request: Request) -> bool:
        """Cookies count under every name, and are not needed."""
        return True

    async def is_token(self, _request: Request, _token: str) -> bool:
        return False

    async def open_session(self, _request: Request, *, seconds: int) -> Session:
        """Raise NotAllowed, because there is no token."""
        raise NotAllowed(f"this server has no local token, so it cannot open a session of {seconds} s")


class KeysAndSessions:
    """Requires credentials for every request, and limits the rate of each caller.

    With `local`, holders of this machine's token are admins. Only this machine can reach the server then, and requests
    that came through a proxy are rejected.
    """

    has_sessions = True

    def __init__(
        self, settings: AccessSettings, rates: Rates, forwarding: ForwardingGuard, local: LocalToken | None = None
    ) -> None:
        self._trusted_networks = settings.trusted_origins
        self._idle = settings.session_idle_minutes * 60
        self._forwarded_headers = forwarding
        self._rates = rates
        self._local = local
        self._one_by_one = asyncio.Lock()

    @property
    def browser_host(self) -> str | None:
        """The host name of this server for browsers, if there is a local token."""
        return None if self._local is None else self._local.host

    def takes_cookies(self, request: Request) -> bool:
        """Return whether cookies count under the host name of the request."""
        return self.browser_host in {None, host_name(request.headers.get("host", ""))}

    async def identify(self, request: Request) -> Caller:
        """Return the caller. Raises NotAuthenticated, NotAllowed, TooManyRequests."""
        self._forwarded_headers.check(request)
        by_cookie = "authorization" not in request.headers
        if by_cookie:
            refuse_other_sites(request, self._trusted_networks)
        caller = await self._find(request)
        if caller is None:
            await self._refuse(request)
        if by_cookie:
            require_own_site(request, self._trusted_networks)
        await self._rates.count_request(caller)
        return caller

    async def find(self, request: Request) -> Caller | None:
        """Return the sender of a request that changes nothing; None for one without access, which is not recorded.

        Raises NotAllowed, TooManyRequests.
        """
        self._forwarded_headers.check(request)
        caller = await self._find(request)
        if caller is not None:
            await self._rates.count_request(caller)
        return caller

    async def still_admits(self, request: Request) -> bool:
        """Return whether the sender of a request that is still being answered would be admitted now."""
        try:
            return await self._find(request) is not None
        except DatabaseError:
            return True  # without the database, the session counts as valid

    async def is_token(self, request: Request, shown: str) -> bool:
        """Return whether this is the local token. Raises NotAllowed, and TooManyRequests after too many wrong ones."""
        self._forwarded_headers.check(request)
        refuse_embedding(request, self._trusted_networks)
        if self._local is not None and self._local.fits(shown):
            return True
        note_refusal(request, "keys.refused", {"what": "the local token"})
        # Counted separately: a page of another site can make a browser send wrong tokens, which must not block logins.
        await self._rates.count_attempt(address_of(request), "token")
        return False

    async def open_session(self, request: Request, *, seconds: int) -> Session:
        """Open a session for a browser that has shown the local token. Raises NotAllowed if there is no token."""
        if self._local is None:
            raise NotAllowed("this server has no local token")
        secret = new_secret(LOCAL_SESSION)
        services = state_of(request).services(_local(request))
        return await services.sessions.open_local(
            secret, self._local.digest(secret), seconds=seconds, origin=address_of(request)
        )

    async def _find(self, request: Request) -> Caller | None:
        # Guesses from such an address use at most one connection, and do not lock out holders of a valid key.
        worn_out = await self._rates.is_exhausted(address_of(request))
        async with self._one_by_one if worn_out else nullcontext():
            if "authorization" in request.headers:
                return await self._by_key(request, _bearer(request))
            return await self._by_session(request, self._cookie(request))

    async def _by_key(self, request: Request, secret: str) -> Caller | None:
        if self._local is not None and self._local.fits(secret):
            return _local(request)
        if secret.startswith(f"{SESSION}_"):
            return await self._by_session(request, secret)
        key = await _look_up(request).keys.find(secret)
        return None if key is None else _program(key, request)

    async def _by_session(self, request: Request, secret: str | None) -> Caller | None:
        if secret is None:
            return None
        is_local = self._local is not None and secret.startswith(f"{LOCAL_SESSION}_")
        digest = self._local.digest(secret) if self._local is not None and is_local else digest_of(secret)
        found = await _look_up(request).sessions.find(digest, idle=self._idle)
        if found is None:
            return None
        if found.person is None:
            return replace(_local(request), session=digest)
        who = found.person
        return replace(person(who.name, who.scope, request), person_id=who.id, session=digest)

    def _cookie(self, request: Request) -> str | None:
        return session_secret(request) if self.takes_cookies(request) else None

    async def _refuse(self, request: Request) -> NoReturn:
        shown = request.headers.get("authorization")
        if shown is None and self._cookie(request) is None:
            raise NotAuthenticated("send an API key (`Authorization: Bearer rk_...`), or log in")
        note_refusal(request, "sessions.refused" if shown is None else "keys.refused")
        await self._rates.count_attempt(address_of(request))
        if shown is None:
            raise NotAuthenticated("the session has ended: log in again")
        if not _bearer(request):
            raise NotAuthenticated("send an API key as `Authorization: Bearer rk_...`")
        raise NotAuthenticated("the API key is unknown, expired or revoked")


def person(name: str, scope: Scope, request: Request) -> Caller:
    """Return the caller for a person."""
    return Caller(actor=Actor(name=name, via="api", origin=address_of(request)), scope=scope)


def _bearer(request: Request) -> str:
    """Return the bearer secret of the request; empty for another scheme."""
    scheme, _, secret = request.headers["authorization"].partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _local(request: Request) -> Caller:
    return replace(person("local", Scope.ADMIN, request), is_local=True)


def _program(key: ApiKey, request: Request) -> Caller:
    # Names of people contain no brackets, so no person can pose as a program in the audit log.
    actor = Actor(name=f"{key.name} (API key {key.id})", via="api", origin=address_of(request))
    return Caller(actor=actor, scope=key.scope, person_id=key.person_id, key_id=key.id)


def _look_up(request: Request) -> Services:
    return state_of(request).services(person("nobody", Scope.READ, request))


class ForwardingGuard:
    """Detects requests that came through a proxy. With `only_direct`, it rejects them; otherwise, it warns once."""

    def __init__(self, *, only_direct: bool) -> None:
        self._only_direct = only_direct
        self._has_warned = False

    def check(self, request: Request) -> None:
        """Raise NotAllowed for a request with signs of a proxy where only direct ones are allowed.

        Not every proxy leaves such signs. Otherwise, warn once of a proxy whose forwarding headers are not trusted.
        """
        if self._only_direct and _came_through(request):
            raise NotAllowed(
                "this request came through a proxy, which others may be able to reach: serve with --auth keys"
            )
        if not self._has_warned and _is_cross_site(request):
            self._has_warned = True
            log.warning(UNTRUSTED_PROXY, address_of(request))


def _came_through(request: Request) -> bool:
    return request.scope.get("http_version") == OLD_HTTP or any(
        name in PROXY_HEADERS or name.startswith(PROXY_PREFIX) or name.endswith(PROXY_SUFFIXES)
        for name in request.headers
    )


def _is_cross_site(request: Request) -> bool:
    named = request.headers.get("x-forwarded-for")
    return named is not None and (address_of(request) or "") not in named


class LocalToken:
    """The local token, and what is derived from it. A new token ends the sessions opened with the old one."""

    def __init__(self, token: str) -> None:
        self._token = token.encode("ascii")
        # Only holders of the token can compute it, so no other program of this machine can lure a browser to the name.
        self.host = f"rolecall-{b32encode(self.digest('host'))[:NAME_LENGTH].decode().lower()}.localhost"

    def fits(self, shown: str) -> bool:
        """Return whether this is the token, in constant time."""
        return hmac.compare_digest(_bytes(shown), self._token)

    def digest(self, text: str) -> bytes:
        """Return the HMAC of a text, keyed with the token."""
        return hmac.digest(self._token, _bytes(text), hashlib.sha256)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
