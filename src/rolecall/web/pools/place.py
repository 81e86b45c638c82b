"""The place of a pool on its server, and the links from its pages to the same pages of the other pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from rolecall.web.dashboard.navigation import NavigationEntry
from rolecall.web.http.requests import PLACE, path_below, root_of

# Positions in lists of one pool, which another pool does not know.
OWN_PARAMETERS = frozenset({"cursor", "page"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLink:
    """A pool of the server, and the address of the current page in it."""

    name: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSwitch:
    """The current pool, the links to all pools, and the address of the page that shows them together."""

    name: str
    links: Sequence[PoolLink]
    overview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which pool of the server an application serves, and the names of all."""

    name: str
    names: tuple[str, ...]

    @property
    def mount_path(self) -> str:
        return mount_path(self.name)

    def switch(self, request: Request, entry: NavigationEntry | None) -> PoolSwitch:
        """Return the switch of a page, whose navigation item is `entry`.

        The page of a task or another numbered thing leads to its navigation item: its number means something else in
        another pool.
        """
        server = root_of(request.scope).removesuffix(self.mount_path)
        page = _page_elsewhere(request, entry)
        links = [
            PoolLink(name=name, address=server + mount_path(name) + page, is_current=name == self.name)
            for name in self.names
        ]
        return PoolSwitch(name=self.name, links=links, overview=f"{server}/")


class Placed:
    """Tells the application of a pool its place."""

    def __init__(self, application: ASGIApp, place: Place) -> None:
        self._application = application
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application({**scope, PLACE: self._place}, receive, send)


def mount_path(name: str) -> str:
    """Return the path of a pool, relative to that of the server."""
    return f"/pools/{name}"


def _page_elsewhere(request: Request, entry: NavigationEntry | None) -> str:
    path = path_below(request.scope)
    if entry is None or any(part.isdecimal() for part in path.split("/")):
        return entry.path if entry else "/"
    query = urlencode([each for each in request.query_params.multi_items() if each[0] not in OWN_PARAMETERS])
    return f"{path}?{query}" if query else path
