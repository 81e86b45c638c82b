"""The contract between the crawler and the platforms on which stores publish their menus.

One package below `storecrawl.platforms` implements it for each platform. Roles, commands and API use only these types.
Requests raise the errors of `storecrawl.platforms.errors` and HeldBack, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from storecrawl.catalog.discovery import NamedCity, StoreRules
from storecrawl.catalog.normalize import Menu
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.platforms.access import Access
from storecrawl.platforms.raw_pages import RawPage

Keep = Callable[[RawPage], None]
"""Receives each response of a menu before it is parsed."""
ReadOption = Callable[[str], object]
"""Turns the text of a setting into its value. Raises ValueError with the problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The constant facts of a platform.

    The name in `rules` is the value of `platform` columns, and the word in settings and schedules. `options` are the
    platform's own settings: STORECRAWL_<NAME>_<OPTION>.
    """

    title: str
    rules: StoreRules
    options: Mapping[str, ReadOption] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.rules.platform


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAddress:
    """Everything that a platform needs to find a store's menu.

    `endpoint` is the base URL of the store or its chain, if it differs from that of the platform. `recreational` and
    `medical` are None if unknown.
    """

    platform_store_id: str
    slug: str | None = None
    endpoint: str | None = None
    recreational: bool | None = None
    medical: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A state, by its two-letter code, or a city of it."""

    state: str
    city: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The stores that a platform lists in an area, and cities to search next.

    `records` are the platform's own objects, which are archived.
    """

    stores: Sequence[DiscoveredStore] = ()
    cities: Sequence[NamedCity] = ()
    records: Sequence[object] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The store behind an entry point, and in one word how it was found."""

    store: DiscoveredStore
    way: str


class FetchedMenu(Protocol):
    """A menu before normalization. `digests` identify its responses; empty if the next ones cannot be predicted."""

    @property
    def digests(self) -> Sequence[str]: ...

    @property
    def product_count(self) -> int: ...

    def document(self) -> object:
        """Return the JSON value that the payload file contains and `Platform.read` reads."""


class Platform(Protocol):
    """A platform. The class itself has the spec and reads documents, since payloads are read without connection."""

    spec: ClassVar[Spec]

    def __init__(self, access: Access) -> None: ...

    @staticmethod
    def read(document: object) -> Menu:
        """Normalize a document of this platform. Raises NotAMenu for any other document."""

    @staticmethod
    def entry_name(entry: str) -> str | None:
        """Return the slug or id in an entry point: a slug, an id or the address of a menu. None for other text."""

    async def check(self) -> None:
        """Send one cheap request, whose failure means that the platform cannot be crawled now."""

    async def discover(self, area: Area) -> Discovery:
        """List the stores of an area. A platform that lists stores by city returns the cities of a state."""

    async def resolve(self, entry: str, endpoint: str | None = None) -> Resolution:
        """Find the store behind an entry point. Raises NoEntryPoint, and UnknownStore if no way leads to a store."""

    async def fetch(self, store: StoreAddress, *, keep: Keep, digests: Sequence[str] = ()) -> FetchedMenu | None:
        """Fetch a store's whole menu, or return None if its responses have these digests.

        Raises UnknownStore if the platform does not know the store, and Truncated for a menu that was cut.
        """

    def merge(self, store: StoreAddress, pages: Sequence[RawPage]) -> FetchedMenu:
        """Rebuild the menu from the responses that `fetch` has kept, without requests."""
