"""Find a store by a slug, an id or the address of its menu.

Each way is tried only if those before it found nothing: look up the name; read the menu's web page,
which may redirect, name its canonical address or contain the store's data; and search for the words of
the name. Pages are fetched from the upstream's own host only, whatever host an address names: only its
path counts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from storecrawl.platforms.dutchie.records import PlatformStore
from storecrawl.platforms.errors import NoEntryPoint, UnknownStore, UpstreamError, UpstreamFailure

MENU_PATH = re.compile(
    r"(?P<path>/(?:dispensary|embedded-menu|stores)/(?P<slug>[0-9A-Za-z][0-9A-Za-z_-]{0,99}))(?:/|$)"
)
SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
SEARCH_LIMIT = 20
_NOT_ALPHANUMERIC = re.compile(r"[^0-9a-z]+")
LARGEST_DATA = 4_194_304
_LINK = re.compile(r"<link\b[^<>]*>", re.IGNORECASE)
_CANONICAL = re.compile(r"""\brel\s*=\s*["']?canonical\b""", re.IGNORECASE)
_ADDRESS = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE)
_DATA_START = re.compile(r"""<script\b[^<>]*\bid\s*=\s*["']?__NEXT_DATA__\b[^<>]*>""", re.IGNORECASE)
_DATA_END = "</script"


class Way(StrEnum):
    """How a store was found."""

    DIRECT = "direct"
    REDIRECT = "redirect"
    CANONICAL = "canonical"
    PAGE_DATA = "page_data"
    SEARCH = "search"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The store behind an entry point, and how it was found."""

    store: PlatformStore
    way: Way


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    path: str


class StoreSource(Protocol):
    """The part of the upstream client that resolution needs."""

    async def store(self, slug_or_id: str) -> PlatformStore:
        """Return a store by its exact name."""

    async def search(self, term: str, limit: int) -> list[PlatformStore]:
        """Return stores by a part of their name."""

    async def page(self, path: str) -> MenuPage:
        """Return a web page."""


def slug_of(entry: str) -> str | None:
    """Return a slug or id, or the slug in a menu's address; otherwise None."""
    if "/" not in entry:
        return entry if SLUG.fullmatch(entry) else None
    found = MENU_PATH.search(_path_of(entry))
    return found["slug"] if found else None


async def resolve(source: StoreSource, entry: str) -> Resolution:
    """Find the store. Raises NoEntryPoint, UnknownStore, or the failure that prevented a way."""
    target = _entry_of(entry)
    found = await _first_known(source, Way.DIRECT, [target.name])
    if found is not None:
        return found
    failure: UpstreamFailure = UnknownStore(target.name)
    try:
        found = await _find_by_page(source, target)
    except UpstreamFailure as problem:
        # The page may be blocked while the search is not. The failure matters only if the search finds nothing.
        failure = problem
    found = found or await _find_by_search(source, target.name)
    if found is None:
        raise failure
    return found


def _entry_of(entry: str) -> _Entry:
    name = slug_of(entry)
    if name is None:
        raise NoEntryPoint(entry)
    found = MENU_PATH.search(_path_of(entry))
    return _Entry(name, found["path"] if found else f"/dispensary/{name}")


def _path_of(address: str) -> str:
    try:
        return unquote(urlsplit(address).path)
    except ValueError:
        return ""


async def _find_by_page(source: StoreSource, target: _Entry) -> Resolution | None:
    try:
        page = await source.page(target.path)
    except UpstreamError as refusal:
        if refusal.retryable:
            raise
        return None
    for way, names in _candidate_names(page, target):
        found = await _first_known(source, way, names)
        if found is not None:
            return found
    return None


def _candidate_names(page: MenuPage, target: _Entry) -> Iterator[tuple[Way, list[str]]]:
    yield Way.REDIRECT, _slug_in(page.path, target)
    yield Way.CANONICAL, _slug_in(canonical_address(page.text) or "", target)
    yield Way.PAGE_DATA, [name for name in store_names(page.text) if SLUG.fullmatch(name) and name != target.name]


def _slug_in(address: str, target: _Entry) -> list[str]:
    slug = slug_of(address) if "/" in address else None
    return [] if slug in {None, target.name} else [str(slug)]


async def _first_known(source: StoreSource, way: Way, names: list[str]) -> Resolution | None:
    for name in names:
        try:
            return Resolution(store=await source.store(name), way=way)
        except UnknownStore:
            continue
    return None


async def _find_by_search(source: StoreSource, name: str) -> Resolution | None:
    """Find the only store whose words are exactly those of the entry."""
    words = _words(name)
    found = await source.search(words, SEARCH_LIMIT)
    alike = {store.id: store for store in found if words in _spellings(store)}
    return Resolution(store=next(iter(alike.values())), way=Way.SEARCH) if len(alike) == 1 else None


def _spellings(store: PlatformStore) -> set[str]:
    return {_words(store.slug), _words(store.name), _words(f"{store.name} {store.location.city or ''}")}


def _words(text: str) -> str:
    return _NOT_ALPHANUMERIC.sub(" ", text.lower()).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuPage:
    """A web page: its text, and its path or address after redirects."""

    path: str
    text: str


def canonical_address(text: str) -> str | None:
    """Return the canonical address that the page names, or None."""
    links = (link[0] for link in _LINK.finditer(text))
    for link in links:
        found = _ADDRESS.search(link) if _CANONICAL.search(link) else None
        if found:
            return html.unescape(found[1] or found[2] or found[3] or "").strip() or None
    return None


def store_names(text: str) -> list[str]:
    """Return the id and slug of the store in the page's data, if present."""
    return [name for data in _data(text) for name in (data.get("id"), data.get("cName")) if isinstance(name, str)]


def _data(text: str) -> Iterator[Mapping[str, object]]:
    start = _DATA_START.search(text)
    if start is None:
        return
    end = text.find(_DATA_END, start.end(), start.end() + LARGEST_DATA)
    value = _decode(text[start.end() : end]) if end >= 0 else None
    for name in ("props", "pageProps", "dispensary"):
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        yield value


def _decode(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
