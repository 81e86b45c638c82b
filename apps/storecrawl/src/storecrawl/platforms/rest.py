"""Shared code of platforms with a plain JSON API: clients by endpoint, lists in parts, and unknown names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from storecrawl.catalog.normalize.records import Record
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.platforms.access import Access
from storecrawl.platforms.client import HttpClient
from storecrawl.platforms.errors import SchemaDrift, UnknownStore, UpstreamError
from storecrawl.platforms.protocol import Area, Discovery

NOT_FOUND = 404


class Clients:
    """The clients of one platform: one for each endpoint, so that its limits apply to all tasks of this process."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._clients: dict[str | None, HttpClient] = {}

    def at(self, endpoint: str | None = None) -> HttpClient:
        """Return the client of an endpoint, or of the platform's own. Raises ForbiddenUrl."""
        if endpoint not in self._clients:
            self._clients[endpoint] = self._access.client(endpoint)
        return self._clients[endpoint]


def member_at(document: Any, *path: str) -> Any:
    """Return the value that these names lead to, or None."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


async def list_all(
    client: HttpClient, path: str, params_of: Callable[[int], Mapping[str, str]], member: tuple[str, ...], *, part: int
) -> list[Any]:
    """Return all members of a list that comes in parts of `part` members; `params_of` takes the number of known ones.

    Raises errors of the tree.
    """
    found: list[Any] = []
    async with client.visit(about=path) as visit:
        while True:
            answer = await client.get_json(visit, path, params_of(len(found)))
            members = member_at(answer, *member)
            if not isinstance(members, list):
                raise SchemaDrift(path, f"the response has no list {'.'.join(member)!r}")
            found += members
            if len(members) < part:
                return found


async def find_one(client: HttpClient, path: str, name: str) -> Any:
    """Return the JSON value about one name. Raises UnknownStore if the platform does not know it."""
    try:
        async with client.visit(about=name) as visit:
            return await client.get_json(visit, path)
    except UpstreamError as problem:
        raise unknown_or(problem, name) from problem


def unknown_or(problem: UpstreamError, name: str) -> Exception:
    """Return UnknownStore if the response means an unknown store, otherwise the problem itself."""
    return UnknownStore(name) if problem.status == NOT_FOUND else problem


def discovery_of(records: list[Any], read: Callable[[Record], DiscoveredStore | None], area: Area) -> Discovery:
    """Return the stores of an area among the platform's objects: those that it lists may be of several areas."""
    found = [(record, read(record)) for record in records if isinstance(record, dict)]
    here = [(record, store) for record, store in found if store is not None and _is_in(store, area)]
    return Discovery(stores=[store for _, store in here], records=[record for record, _ in here])


def _is_in(store: DiscoveredStore, area: Area) -> bool:
    is_in_city = area.city is None or (store.city or "").casefold() == area.city.casefold()
    return is_in_city and (store.state or "").upper() == area.state.upper()
