"""The generated stores: their names, locations and menu habits."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

import msgspec

from storecrawl.demo.upstream import words
from storecrawl.demo.upstream.draws import Draw, WeightedValues
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.places import CITIES_BY_SIZE, City

CHAINS = 24
SHARE_IN_CHAINS = 0.45
SMALL_SHOP_SHARE = 0.06
SMALL_SHOP_LARGEST = 80
MENU_SIGMA = 0.6


class StoreKind(StrEnum):
    """The customers that a store may serve."""

    MEDICAL = "medical"
    ADULT = "adult"
    BOTH = "both"


class StockSource(StrEnum):
    """The source of a store's stock figures, if any."""

    MANUAL = "manual"
    POS = "pos"
    NONE = "none"


class MenuHabits(msgspec.Struct, frozen=True, kw_only=True):
    """The spellings and rules that all products of a store's menu share."""

    weighs_in_ounces: bool
    marks_concentrates: bool
    names_types_plural: bool
    writes_pipes: bool
    prices_with_cents: bool
    medical_untaxed: bool
    below_threshold: int
    stock_source: StockSource


class WorldStore(msgspec.Struct, frozen=True, kw_only=True):
    """A store; `chain` is None for an independent one, `menu_size` is the number of places of its menu."""

    number: int
    id: str
    slug: str
    name: str
    chain: int | None
    chain_name: str | None
    city: City
    street: str
    zip_code: str
    latitude: float
    longitude: float
    kind: StoreKind
    menu_size: int
    opened_at_step: int
    habits: MenuHabits


_STOCK_SOURCES = WeightedValues({StockSource.MANUAL: 0.62, StockSource.POS: 0.28, StockSource.NONE: 0.10})
_CHAIN_RANKS = WeightedValues({chain: 1.0 / (chain + 3) for chain in range(CHAINS)})


def make_store(options: UpstreamOptions, number: int, opened_at_step: int) -> WorldStore:
    """Create the store with this number; its slug may need a suffix to be unique."""
    draw = Draw(options.seed, "store", number)
    city = draw.pick_weighted(CITIES_BY_SIZE)
    chain = draw.pick_weighted(_CHAIN_RANKS) if draw.chance(SHARE_IN_CHAINS) else None
    chain_name = None if chain is None else _chain_name(options.seed, chain)
    name = _store_name(draw, chain_name, city)
    return WorldStore(
        number=number,
        id=draw.object_id() if draw.chance(0.88) else draw.short_id(),
        slug=_slug(draw, name, city),
        name=name,
        chain=chain,
        chain_name=chain_name,
        city=city,
        street=f"{draw.integer(10, 9800)} {draw.pick(words.STREETS)}",
        zip_code=f"{city.state.zip_prefix}{draw.integer(0, 999):03d}",
        latitude=round(city.latitude + draw.real(-0.09, 0.09), 6),
        longitude=round(city.longitude + draw.real(-0.09, 0.09), 6),
        kind=_kind(draw, city),
        menu_size=_menu_size(draw, options),
        opened_at_step=opened_at_step,
        habits=_habits(Draw(options.seed, "habits", owner_of(number, chain))),
    )


def owner_of(number: int, chain: int | None) -> str:
    """Return the name of the owner that decides about the products: the chain, or the store itself."""
    return f"store-{number}" if chain is None else f"chain-{chain}"


def slugify(text: str) -> str:
    """Return a name as a part of an address: ASCII letters and digits separated by single hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")


def _chain_name(seed: int, chain: int) -> str:
    draw = Draw(seed, "chain", chain)
    return f"{words.CHAIN_FIRST[chain % len(words.CHAIN_FIRST)]} {draw.pick(words.CHAIN_SECOND)}"


def _store_name(draw: Draw, chain_name: str | None, city: City) -> str:
    if chain_name is not None:
        place = draw.pick(words.QUARTERS) if draw.chance(0.4) else city.name
        return f"{chain_name} - {place}" if draw.chance(0.7) else f"{chain_name} ({place})"
    return f"{draw.pick(words.SHOP_FIRST)} {draw.pick(words.SHOP_SECOND)}"


def _slug(draw: Draw, name: str, city: City) -> str:
    text = slugify(name if city.name in name else f"{name} {city.name}")
    return text if draw.chance(0.02) else text.lower()


def _kind(draw: Draw, city: City) -> StoreKind:
    share = draw.share()
    if share < city.state.medical_only:
        return StoreKind.MEDICAL
    if share < city.state.medical_only + city.state.adult_only:
        return StoreKind.ADULT
    return StoreKind.BOTH


def _menu_size(draw: Draw, options: UpstreamOptions) -> int:
    if draw.chance(SMALL_SHOP_SHARE):
        size = draw.integer(options.menu_smallest, max(options.menu_smallest, SMALL_SHOP_LARGEST))
    else:
        size = round(draw.lognormal(options.menu_median, MENU_SIGMA))
    return min(options.menu_largest, max(options.menu_smallest, size))


def _habits(draw: Draw) -> MenuHabits:
    return MenuHabits(
        weighs_in_ounces=draw.chance(0.5),
        marks_concentrates=draw.chance(0.5),
        names_types_plural=draw.chance(0.4),
        writes_pipes=draw.chance(0.6),
        prices_with_cents=draw.chance(0.35),
        medical_untaxed=draw.chance(0.25),
        below_threshold=draw.integer(1, 4),
        stock_source=draw.pick_weighted(_STOCK_SOURCES),
    )
