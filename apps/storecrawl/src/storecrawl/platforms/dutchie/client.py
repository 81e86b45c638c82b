"""The upstream client: stores, cities and menus over GraphQL, with retries, typed values and typed errors."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from storecrawl.egress import Egress, Rates, Visit
from storecrawl.platforms.client import HttpClient, read_reply
from storecrawl.platforms.dutchie.digests import Digests, Place, places_in
from storecrawl.platforms.dutchie.menu import FetchedMenu, Kind, menu_of
from storecrawl.platforms.dutchie.operations import CITIES, PRODUCTS, STORE_SEARCH, STORES, Hashes, Operation
from storecrawl.platforms.dutchie.options import ClientOptions, MenuMode
from storecrawl.platforms.dutchie.pages import FetchPage, ListPage, page_in, walk_twice_if_short
from storecrawl.platforms.dutchie.records import City, PlatformStore, cities_of, stores_of
from storecrawl.platforms.dutchie.replies import HashUnknown, page_of_web, root_of
from storecrawl.platforms.dutchie.resolution import MenuPage, Resolution, resolve, slug_of
from storecrawl.platforms.errors import ForeignRedirect, UnknownStore, UpstreamError
from storecrawl.platforms.exchange import Reply
from storecrawl.platforms.raw_pages import RawPage

T = TypeVar("T")
Variables = dict[str, Any]
Keep = Callable[[RawPage], None]


def _discard(_: RawPage) -> None:
    """Ignore the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _MenuFetch:
    """The fetch of a store's menu; `digests` are those of the responses that were not rejected."""

    dispensary_id: str
    pricing_types: tuple[str, ...]
    keep: Keep
    digests: list[str] = field(default_factory=list)


class _ComparedResponse(NamedTuple):
    """A response received while digests were compared; it is parsed if it differs."""

    answer: RawPage
    page: ListPage | None


class UpstreamClient:
    """Client of one upstream. Methods raise the errors of `storecrawl.platforms.errors`, and HeldBack.

        async with UpstreamClient("https://upstream.example") as client:
            menu = await client.menu((await client.store("some-slug")).id)

    Requests leave through the given egress, which its owner opens and closes; without one, directly and
    without limits. Raises ForbiddenUrl if the address is not plain http or https.
    """

    def __init__(
        self,
        base_url: str,
        *,
        options: ClientOptions | None = None,
        egress: Egress | None = None,
        rates: Rates | None = None,
        random: Random | None = None,
    ) -> None:
        self._options = options or ClientOptions()
        self._owns_egress = egress is None
        self._egress = egress or Egress()
        self._http = HttpClient(base_url, options=self._options, egress=self._egress, rates=rates, random=random)
        self._hashes = Hashes(self._options.hashes)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._owns_egress:
            await self._egress.close()

    async def cities(self, state: str) -> list[City]:
        """Return the cities of a state (its two-letter code) that have active stores."""
        return await self._request_stores(
            CITIES, {"state": state}, lambda root: cities_of(CITIES, root), about=f"cities of {state}"
        )

    async def stores(self, *, state: str | None = None, city: str | None = None) -> list[PlatformStore]:
        criteria = {"state": state, "city": city, "activeOnly": True}
        area = {name: value for name, value in criteria.items() if value is not None}
        about = f"stores of {city or 'all cities'}, {state or 'all states'}"
        variables = {"dispensaryFilter": area}
        return await self._request_stores(STORES, variables, lambda root: stores_of(STORES, root), about=about)

    async def store(self, slug_or_id: str) -> PlatformStore:
        variables = {"dispensaryFilter": {"cNameOrID": slug_or_id}}
        found = await self._request_stores(STORES, variables, lambda root: stores_of(STORES, root), about=slug_or_id)
        if not found:
            raise UnknownStore(slug_or_id)
        return found[0]

    async def search(self, term: str, limit: int = 10) -> list[PlatformStore]:
        variables = {"searchTerm": term, "limit": limit}
        return await self._request_stores(
            STORE_SEARCH, variables, lambda root: stores_of(STORE_SEARCH, _results(root)), about=f"stores named {term}"
        )

    async def resolve(self, entry: str) -> Resolution:
        """Find the store behind a slug, an id or a menu's address.

        Raises NoEntryPoint for any other text, and UnknownStore if no way leads to a store. If a way could not
        be tried and no other found the store, raises that failure: a later attempt may find it.
        """
        return await resolve(self, entry)

    async def page(self, path: str) -> MenuPage:
        """Return a web page of the upstream's own host, following redirects within it.

        A redirect to a menu elsewhere is not followed: the result has its address and no text.
        """
        async with self._http.visit(about=path) as visit:
            return await self._http.rule.run(visit, lambda: self._page(visit, path))

    async def menu(
        self, dispensary_id: str, pricing_types: tuple[str, ...] = ("rec",), *, keep: Keep = _discard
    ) -> FetchedMenu:
        """Return a store's whole menu: the given price lists ("rec", "med"), each in all modes of the options.

        `keep` receives every response before it is parsed. An unknown store has an empty menu, since the
        upstream does not distinguish the two. Raises Truncated for a menu that was cut.
        """
        menu_fetch = _MenuFetch(dispensary_id=dispensary_id, pricing_types=pricing_types, keep=keep)
        async with self._http.visit(store=dispensary_id) as visit:
            return await self._walk_lists(visit, menu_fetch, deque())

    async def menu_unless_same(
        self, dispensary_id: str, pricing_types: tuple[str, ...], digests: Sequence[str], *, keep: Keep = _discard
    ) -> FetchedMenu | None:
        """Return a menu like `menu`, or None if its responses have these digests.

        Responses are not parsed as long as they are the same, since the next page to fetch is then also the
        same.
        """
        menu_fetch = _MenuFetch(dispensary_id=dispensary_id, pricing_types=pricing_types, keep=keep)
        places = places_in(digests)
        if list(dict.fromkeys(kind for kind, _ in places)) != self._kinds(menu_fetch):
            return await self.menu(dispensary_id, pricing_types, keep=keep)
        compared: deque[_ComparedResponse] = deque()
        async with self._http.visit(store=dispensary_id) as visit:
            for place, digest in zip(places, digests, strict=True):
                compared.append(await self._compare_page(visit, menu_fetch, place, digest))
                if compared[-1].page is not None:
                    return await self._walk_lists(visit, menu_fetch, compared)
        return None

    def merge(self, dispensary_id: str, answers: Iterable[RawPage]) -> FetchedMenu:
        return menu_of(dispensary_id, self._options.page_size, answers)

    def _kinds(self, menu_fetch: _MenuFetch) -> list[Kind]:
        return list(itertools.starmap(Kind, itertools.product(menu_fetch.pricing_types, self._options.modes)))

    async def _walk_lists(
        self, visit: Visit, menu_fetch: _MenuFetch, compared: deque[_ComparedResponse]
    ) -> FetchedMenu:
        """Walk all lists; the responses received early replace the first requests, in the same order."""
        walks = {}
        for kind in self._kinds(menu_fetch):
            walks[kind] = await walk_twice_if_short(
                self._fetcher(visit, menu_fetch, kind, compared), self._options, self._http.rule
            )
        menu = FetchedMenu.of(menu_fetch.dispensary_id, self._options.page_size, walks)
        menu.refuse_if_truncated()
        pages = [page for walk in walks.values() for page in walk.pages]
        # An empty page is fetched again after a pause, and that response cannot be predicted.
        if len(pages) != len(menu_fetch.digests) or any(page.is_empty for page in pages):
            return menu
        return replace(menu, digests=menu_fetch.digests)

    def _fetcher(
        self, visit: Visit, menu_fetch: _MenuFetch, kind: Kind, compared: deque[_ComparedResponse]
    ) -> FetchPage:
        async def fetch(number: int) -> ListPage:
            def read(reply: Reply, _: str = "") -> ListPage:
                return page_in(reply, number)

            if not compared:
                return await self._menu_page(visit, menu_fetch, (kind, number), read)
            response = compared.popleft()
            return await read_reply(response.answer.reply, read) if response.page is None else response.page

        return fetch

    async def _compare_page(
        self, visit: Visit, menu_fetch: _MenuFetch, place: Place, expected: str
    ) -> _ComparedResponse:
        def compare(reply: Reply, digest: str) -> _ComparedResponse:
            kind, number = place
            answer = RawPage.of(reply, kind.part, number)
            return _ComparedResponse(answer, None if digest == expected else page_in(reply, number))

        return await self._menu_page(visit, menu_fetch, place, compare)

    async def _menu_page(
        self, visit: Visit, menu_fetch: _MenuFetch, place: Place, judge: Callable[[Reply, str], T]
    ) -> T:
        kind, number = place
        size, cap = self._options.page_size, self._options.page_cap
        digests = Digests(dispensary_id=menu_fetch.dispensary_id, page_size=size, page_cap=cap)

        def store_and_judge(reply: Reply) -> T:
            answer = RawPage.of(reply, kind.part, number)
            menu_fetch.keep(answer)
            digest = digests.of(answer)
            result = judge(reply, digest)
            menu_fetch.digests.append(digest)
            return result

        if number:
            await asyncio.sleep(self._options.page_pause)
        variables = {
            "productsFilter": _products_filter(menu_fetch.dispensary_id, kind),
            "page": number,
            "perPage": size,
            "includeEnterpriseSpecials": False,
        }
        return await self._request(visit, self._options.menus_path, PRODUCTS, variables, store_and_judge)

    async def _request_stores(
        self, operation: Operation, variables: Variables, read: Callable[[Any], T], *, about: str
    ) -> T:
        async with self._http.visit(about=about) as visit:
            return await self._request(
                visit, self._options.stores_path, operation, variables, lambda reply: read(root_of(reply, operation))
            )

    async def _page(self, visit: Visit, path: str) -> MenuPage:
        try:
            return page_of_web(await self._http.exchange.get_page(visit, path))
        except ForeignRedirect as elsewhere:
            if slug_of(elsewhere.location) is None:
                raise
            return MenuPage(path=elsewhere.location, text="")

    async def _request(  # sizes: a request, its visit, and how its response is read
        self, visit: Visit, path: str, operation: Operation, variables: Variables, judge: Callable[[Reply], T]
    ) -> T:
        return await self._http.rule.run(visit, lambda: self._answer(visit, path, operation, variables, judge))

    async def _answer(  # sizes: as `_request`
        self, visit: Visit, path: str, operation: Operation, variables: Variables, judge: Callable[[Reply], T]
    ) -> T:
        for digest in self._hashes.candidates(operation):
            params = _hash_request(operation, digest, variables)
            reply = await self._http.exchange.get(visit, path, params, _headers(operation))
            try:
                answer = await read_reply(reply, judge)
            except HashUnknown:
                continue
            self._hashes.prefer(operation, digest)
            return answer
        return await self._answer_to_text(visit, path, operation, variables, judge)

    async def _answer_to_text(  # sizes: as `_request`
        self, visit: Visit, path: str, operation: Operation, variables: Variables, judge: Callable[[Reply], T]
    ) -> T:
        document = _text_request(operation, variables)
        reply = await self._http.exchange.post(visit, path, document, _headers(operation))
        try:
            answer = await read_reply(reply, judge)
        except HashUnknown as error:
            raise UpstreamError("it accepts neither the hash nor the text", retryable=False) from error
        # The upstream has now received our text, so it knows its hash.
        self._hashes.prefer(operation, operation.digest)
        return answer


def _hash_request(operation: Operation, digest: str, variables: Variables) -> dict[str, str]:
    return {
        "operationName": operation.name,
        "variables": _compact(variables),
        "extensions": _compact(_extensions(digest)),
    }


def _text_request(operation: Operation, variables: Variables) -> dict[str, Any]:
    return {
        "operationName": operation.name,
        "variables": variables,
        "query": operation.text,
        "extensions": _extensions(operation.digest),
    }


def _headers(operation: Operation) -> dict[str, str]:
    return {"apollo-require-preflight": "true", "x-apollo-operation-name": operation.name}


def _extensions(digest: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": digest}}


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _results(root: Any) -> Any:
    return root.get("results") if isinstance(root, dict) else None


def _products_filter(dispensary_id: str, kind: Kind) -> Variables:
    is_shown = kind.mode is MenuMode.SHOWN
    return {
        "dispensaryId": dispensary_id,
        "pricingType": kind.pricing_type,
        "strainTypes": [],
        "subcategories": [],
        "types": [],
        "Status": "Active",
        "useCache": False,
        "isDefaultSort": True,
        "sortBy": None,
        "sortDirection": 1,
        "bypassOnlineThresholds": not is_shown,
        "isKioskMenu": False,
        "removeProductsBelowOptionThresholds": is_shown,
        "platformType": "ONLINE_MENU",
        "preOrderType": None,
    }
