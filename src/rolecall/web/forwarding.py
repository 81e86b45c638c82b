"""What says that a request came through another server, which may let a whole network in."""

from __future__ import annotations

import logging

from fastapi import Request

from rolecall.model.errors import NotAllowed
from rolecall.web.state import address_of

__all__ = ["Way"]

PREFIX = "x-forwarded"
NAMES = frozenset(
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
UNBELIEVED = "Requests come through %s, whose word for where they come from is not taken: see ROLECALL_FORWARDED_BY"
# What many servers speak to those behind them unless they are told otherwise, and no client of today.
OLD = "1.0"


log = logging.getLogger("rolecall.web")


class Way:
    """Looks by which way requests come: straight from this machine, where nobody else may come in by the same door."""

    def __init__(self, *, only_direct: bool) -> None:
        self._only_direct = only_direct
        self._has_warned = False

    def look(self, request: Request) -> None:
        """Raise NotAllowed for what says that it came through another server; that nothing says so proves nothing.

        Where requests may come through one, warn once of a server in front whose word is not taken.
        """
        if self._only_direct and _came_through(request):
            raise NotAllowed("this came through another server, which others may reach: serve with --auth keys")
        if not self._has_warned and _came_from_elsewhere(request):
            self._has_warned = True
            log.warning(UNBELIEVED, address_of(request))


def _came_through(request: Request) -> bool:
    return request.scope.get("http_version") == OLD or any(
        name in NAMES or name.startswith(PREFIX) for name in request.headers
    )


def _came_from_elsewhere(request: Request) -> bool:
    named = request.headers.get("x-forwarded-for")
    return named is not None and (address_of(request) or "") not in named
