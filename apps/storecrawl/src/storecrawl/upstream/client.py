"""The upstream client: stores, cities and menus over GraphQL, retried, typed in values and errors."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from storecrawl.egress import Egress, Visit
from storecrawl.upstream.errors import ForeignRedirect, UnknownStore, UpstreamError, UpstreamFailure
from storecrawl.upstream.exchange import Exchange, Reply, checked_base, tell
from storecrawl.upstream.menu import FetchedMenu, Kind, menu_of
from storecrawl.upstream.operations import CITIES, PRODUCTS, STORE_SEARCH, STORES, Hashes, Operation
from storecrawl.upstream.options import ClientOptions, MenuMode, RetryRule
from storecrawl.upstream.pages import FetchPage, ListPage, page_in, walk_twice_if_short
from storecrawl.upstream.raw_pages import RawPage
from storecrawl.upstream.records import City, PlatformStore, cities_of, stores_of
from storecrawl.upstream.replies import HashUnknown, page_of_web, root_of
from storecrawl.upstream.resolution import MenuPage, Resolution, resolve, slug_of
from storecrawl.upstream.sameness import Digests, Place, places_in

T = TypeVar("T")
Variables = dict[str, Any]
Keep = Callable[[RawPage], None]

MOST_ON_THE_LOOP = 100_000


def _forget(_: RawPage) -> None:
    """Keep nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Whose menu is asked for, and who keeps the answers; `taken` are the digests of those that were not refused."""

    dispensary_id: str
    pricing_types: tuple[str, ...]
    keep: Keep
    taken: list[str] = field(default_factory=list)


class _Early(NamedTuple):
    """An answer that came while answers were compared; it is read where it differs."""

    answer: RawPage
    page: ListPage | None


class UpstreamClient:
    """Talks to one upstream. Methods raise the errors of `storecrawl.upstream.errors`, and HeldBack.

        async with UpstreamClient("https://upstream.example") as client:
            menu = await client.menu((await client.store("some-slug")).id)

    Requests leave by the given egress, which somebody else opens and closes; without one, directly and as they come.
    Raises ForbiddenUrl at once if the address is not plain http or https.
    """

    def __init__(
        self,
        base_url: str,
        *,
        options: ClientOptions | None = None,
        egress: Egress | None = None,
        random: Random | None = None,
    ) -> None:
        self._options = options or ClientOptions()
        base = checked_base(base_url)
        self._exchange = Exchange(base, self._options)
        self._host = base.netloc.decode("ascii")
        self._owns_egress = egress is None
        self._egress = egress or Egress()
        self._rule = RetryRule(self._options, random or Random())
        self._hashes = Hashes(self._options.hashes)

    async def __aenter__(self) -> Self:
        """Return the client; connections are opened when needed."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._owns_egress:
            await self._egress.close()

    async def cities(self, state: str) -> list[City]:
        """Return the cities of a state (its two-letter code) that have active stores."""
        return await self._stores_ask(
            CITIES, {"state": state}, lambda root: cities_of(CITIES, root), about=f"cities of {state}"
        )

    async def stores(self, *, state: str | None = None, city: str | None = None) -> list[PlatformStore]:
        """Return the active stores of a city or a state, or of everywhere."""
        criteria = {"state": state, "city": city, "activeOnly": True}
        area = {name: value for name, value in criteria.items() if value is not None}
        about = f"stores of {city or 'all cities'}, {state or 'all states'}"
        variables = {"dispensaryFilter": area}
        return await self._stores_ask(STORES, variables, lambda root: stores_of(STORES, root), about=about)

    async def store(self, slug_or_id: str) -> PlatformStore:
        """Return the store with this slug or id. Raises UnknownStore if there is none."""
        variables = {"dispensaryFilter": {"cNameOrID": slug_or_id}}
        found = await self._stores_ask(STORES, variables, lambda root: stores_of(STORES, root), about=slug_or_id)
        if not found:
            raise UnknownStore(slug_or_id)
        return found[0]

    async def search(self, term: str, limit: int = 10) -> list[PlatformStore]:
        """Return at most `limit` stores whose name holds the term."""
        variables = {"searchTerm": term, "limit": limit}
        return await self._stores_ask(
            STORE_SEARCH, variables, lambda root: stores_of(STORE_SEARCH, _results(root)), about=f"stores called {term}"
        )

    async def resolve(self, entry: str) -> Resolution:
        """Return the store behind a slug, an id or a menu's address, however it has to be found.

        Raises NoEntryPoint for what is none of these, and UnknownStore where every way leads nowhere. Where a way
        could not be tried and no other led to the store, raises what was in the way: asking later may find it.
        """
        return await resolve(self, entry)

    async def page(self, path: str) -> MenuPage:
        """Return a web page of the upstream's own host, redirects within it followed.

        One to a menu elsewhere is not followed: its address is the answer, without a text.
        """
        async with self._egress.visit(self._host, about=path) as visit:
            return await self._retried(visit, lambda: self._page(visit, path))

    async def menu(
        self, dispensary_id: str, pricing_types: tuple[str, ...] = ("rec",), *, keep: Keep = _forget
    ) -> FetchedMenu:
        """Return a store's whole menu: these price lists ("rec", "med"), each in all modes that the options name.

        `keep` is given every answer as it came, before it is judged. An unknown store has an empty menu: the upstream
        makes no difference. Raises Truncated for a menu that is cut.
        """
        asking = _Asking(dispensary_id=dispensary_id, pricing_types=pricing_types, keep=keep)
        async with self._egress.visit(self._host, store=dispensary_id) as visit:
            return await self._walked(visit, asking, deque())

    async def menu_unless_same(
        self, dispensary_id: str, pricing_types: tuple[str, ...], digests: Sequence[str], *, keep: Keep = _forget
    ) -> FetchedMenu | None:
        """Return a menu as `menu` does; None where its answers are those of which `digests` made these.

        As long as they are, none is looked into: the next page to ask for is the one that was asked for then.
        """
        asking = _Asking(dispensary_id=dispensary_id, pricing_types=pricing_types, keep=keep)
        places = places_in(digests)
        if list(dict.fromkeys(kind for kind, _ in places)) != self._kinds(asking):
            return await self.menu(dispensary_id, pricing_types, keep=keep)
        early: deque[_Early] = deque()
        async with self._egress.visit(self._host, store=dispensary_id) as visit:
            for place, digest in zip(places, digests, strict=True):
                early.append(await self._compared(visit, asking, place, digest))
                if early[-1].page is not None:
                    return await self._walked(visit, asking, early)
        return None

    def merged(self, dispensary_id: str, answers: Iterable[RawPage]) -> FetchedMenu:
        """Return the menu that these answers make."""
        return menu_of(dispensary_id, self._options.page_size, answers)

    def _kinds(self, asking: _Asking) -> list[Kind]:
        return list(itertools.starmap(Kind, itertools.product(asking.pricing_types, self._options.modes)))

    async def _walked(self, visit: Visit, asking: _Asking, early: deque[_Early]) -> FetchedMenu:
        """Walk all lists; the first pages that they ask for are those that came early, in the same order."""
        walks = {}
        for kind in self._kinds(asking):
            walks[kind] = await walk_twice_if_short(
                self._fetcher(visit, asking, kind, early), self._options, self._rule
            )
        menu = FetchedMenu.of(asking.dispensary_id, self._options.page_size, walks)
        menu.refuse_if_truncated()
        pages = [page for walk in walks.values() for page in walk.pages]
        # An empty page is asked for again, after a pause: what comes then cannot be foreseen.
        if len(pages) != len(asking.taken) or any(page.is_empty for page in pages):
            return menu
        return replace(menu, digests=asking.taken)

    def _fetcher(self, visit: Visit, asking: _Asking, kind: Kind, early: deque[_Early]) -> FetchPage:
        async def fetch(number: int) -> ListPage:
            def read(reply: Reply, _: str = "") -> ListPage:
                return page_in(reply, number)

            if not early:
                return await self._menu_page(visit, asking, (kind, number), read)
            came = early.popleft()
            return await _judged(came.answer.reply, read) if came.page is None else came.page

        return fetch

    async def _compared(self, visit: Visit, asking: _Asking, place: Place, expected: str) -> _Early:
        def compare(reply: Reply, digest: str) -> _Early:
            kind, number = place
            answer = RawPage.of(reply, kind.pricing_type, kind.mode, number)
            return _Early(answer, None if digest == expected else page_in(reply, number))

        return await self._menu_page(visit, asking, place, compare)

    async def _menu_page(self, visit: Visit, asking: _Asking, place: Place, judge: Callable[[Reply, str], T]) -> T:
        kind, number = place
        size, cap = self._options.page_size, self._options.page_cap
        digests = Digests(dispensary_id=asking.dispensary_id, page_size=size, page_cap=cap)

        def kept(reply: Reply) -> T:
            answer = RawPage.of(reply, kind.pricing_type, kind.mode, number)
            asking.keep(answer)
            digest = digests.of(answer)
            judged = judge(reply, digest)
            asking.taken.append(digest)
            return judged

        if number:
            await asyncio.sleep(self._options.page_pause)
        variables = {
            "productsFilter": _products_filter(asking.dispensary_id, kind),
            "page": number,
            "perPage": size,
            "includeEnterpriseSpecials": False,
        }
        return await self._ask(visit, self._options.menus_path, PRODUCTS, variables, kept)

    async def _stores_ask(
        self, operation: Operation, variables: Variables, read: Callable[[Any], T], *, about: str
    ) -> T:
        async with self._egress.visit(self._host, about=about) as visit:
            return await self._ask(
                visit, self._options.stores_path, operation, variables, lambda reply: read(root_of(reply, operation))
            )

    async def _page(self, visit: Visit, path: str) -> MenuPage:
        try:
            return page_of_web(await self._exchange.get_page(visit, path))
        except ForeignRedirect as elsewhere:
            if slug_of(elsewhere.location) is None:
                raise
            return MenuPage(path=elsewhere.location, text="")

    async def _ask(  # sizes: a request, who sends it, and how its answer is read
        self, visit: Visit, path: str, operation: Operation, variables: Variables, judge: Callable[[Reply], T]
    ) -> T:
        return await self._retried(visit, lambda: self._answer(visit, path, operation, variables, judge))

    async def _retried(self, visit: Visit, attempt: Callable[[], Awaitable[T]]) -> T:
        for failures_before in itertools.count():
            try:
                answer = await attempt()
            except UpstreamFailure as failure:
                await tell(visit, failure)
                wait = self._rule.wait_after(failure, failures_before, anew=visit.is_anew)
                if wait is None:
                    await visit.given_up()
                    raise
            else:
                visit.succeeded()
                return answer
            await asyncio.sleep(wait)
        raise AssertionError("counting has no end")

    async def _answer(  # sizes: as `_ask`
        self, visit: Visit, path: str, operation: Operation, variables: Variables, judge: Callable[[Reply], T]
    ) -> T:
        for digest in self._hashes.candidates(operation):
            reply = await self._exchange.get(visit, path, operation.name, _by_hash(operation, digest, variables))
            try:
                answer = await _judged(reply, judge)
            except HashUnknown:
                continue
            self._hashes.prefer(operation, digest)
            return answer
        return await self._answer_to_text(visit, path, operation, variables, judge)

    async def _answer_to_text(  # sizes: as `_ask`
        self, visit: Visit, path: str, operation: Operation, variables: Variables, judge: Callable[[Reply], T]
    ) -> T:
        reply = await self._exchange.post(visit, path, operation.name, _by_text(operation, variables))
        try:
            answer = await _judged(reply, judge)
        except HashUnknown as error:
            raise UpstreamError("it knows neither the hash nor the text", retryable=False) from error
        # The upstream has now seen our text: its hash is known there, whatever became of the configured ones.
        self._hashes.prefer(operation, operation.digest)
        return answer


async def _judged(reply: Reply, judge: Callable[[Reply], T]) -> T:
    """Judge an answer, a large one beside the loop: what is bad in it may take long to be found."""
    if len(reply.body) <= MOST_ON_THE_LOOP:
        return judge(reply)
    return await asyncio.to_thread(judge, reply)


def _by_hash(operation: Operation, digest: str, variables: Variables) -> dict[str, str]:
    return {
        "operationName": operation.name,
        "variables": _compact(variables),
        "extensions": _compact(_extensions(digest)),
    }


def _by_text(operation: Operation, variables: Variables) -> dict[str, Any]:
    return {
        "operationName": operation.name,
        "variables": variables,
        "query": operation.text,
        "extensions": _extensions(operation.digest),
    }


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
