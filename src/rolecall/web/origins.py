"""Refuses what another site's page lets a visitor's browser send: neither cookies nor loopback may serve a stranger.

Browsers say where a request comes from, in Sec-Fetch-Site and Origin; programs say neither. There is no CORS.
"""

from __future__ import annotations

from collections.abc import Collection

from fastapi import Request

from rolecall.model.errors import NotAllowed

__all__ = ["refuse_embedding", "refuse_other_sites", "require_own_site"]

OTHER_SITES = frozenset({"cross-site", "same-site"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def refuse_other_sites(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for a change that another site's page asks for; what is no browser may pass."""
    if request.method not in SAFE_METHODS and _is_own(request, trusted) is False:
        raise NotAllowed("a page of another site may not ask for this")


def refuse_embedding(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for what another site's page asks for by itself: streams that it cannot read take room too.

    A link that somebody follows may lead here.
    """
    is_other = request.headers.get("sec-fetch-site") in OTHER_SITES and not _is_own(request, trusted)
    if is_other and request.headers.get("sec-fetch-mode") != "navigate":
        raise NotAllowed("a page of another site may not ask for this")


def require_own_site(request: Request, trusted: Collection[str]) -> None:
    """Raise NotAllowed for a change unless the browser says that a page of this site asks for it, or a trusted one."""
    if request.method not in SAFE_METHODS and not _is_own(request, trusted):
        raise NotAllowed("with a session, a change must come from a page of this site (Sec-Fetch-Site or Origin)")


def _is_own(request: Request, trusted: Collection[str]) -> bool | None:
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site == "same-origin":
        return True
    if origin is not None:
        return origin.lower() in trusted or origin.partition("://")[2] == request.headers.get("host")
    return None if site is None else False
