"""Sales: a store's specials at a step, and their effect on prices."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from storecrawl.demo.upstream import words
from storecrawl.demo.upstream.categories import CATEGORIES
from storecrawl.demo.upstream.draws import Draw, WeightedValues
from storecrawl.demo.upstream.products import WorldProduct
from storecrawl.demo.upstream.stores import WorldStore

BRAND_GROUPS = 9


class Scope(StrEnum):
    """The products of a campaign."""

    CATEGORY = "category"
    BRANDS = "brands"
    EVERYTHING = "everything"


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """A sale; a bundle (buy one, get one) lowers no price."""

    id: str
    name: str
    scope: Scope
    category: str
    brand_group: int
    percent: int
    is_bundle: bool

    def covers(self, product: WorldProduct) -> bool:
        if self.scope is Scope.CATEGORY:
            return product.category.key == self.category
        if self.scope is Scope.BRANDS:
            return product.brand is not None and product.brand.number % BRAND_GROUPS == self.brand_group
        return True


_COUNTS = WeightedValues({0: 0.15, 1: 0.25, 2: 0.35, 3: 0.25})
_SCOPES = WeightedValues({Scope.CATEGORY: 0.5, Scope.BRANDS: 0.46, Scope.EVERYTHING: 0.04})
_PERCENTS = WeightedValues({10: 0.05, 15: 0.1, 20: 0.15, 25: 0.35, 30: 0.1, 35: 0.15, 40: 0.1})


def campaigns_at(seed: int, store: WorldStore, step: int) -> tuple[Campaign, ...]:
    """Return a store's campaigns at a step."""
    habits = Draw(seed, "campaign habits", store.number)
    period = habits.integer(10, 42)
    season = (step + habits.integer(0, period - 1)) // period
    draw = Draw(seed, "campaigns", store.number, season)
    return tuple(_campaign(draw) for _ in range(draw.pick_weighted(_COUNTS)))


def best_price(price: int, campaigns: tuple[Campaign, ...]) -> int:
    """Return the lowest price in cents of all campaigns; they do not add up."""
    percents = (campaign.percent for campaign in campaigns if not campaign.is_bundle)
    return round(price * (100 - max(percents, default=0)) / 100)


def _campaign(draw: Draw) -> Campaign:
    category, percent = draw.pick_weighted(CATEGORIES), draw.pick_weighted(_PERCENTS)
    scope, is_bundle = draw.pick_weighted(_SCOPES), draw.chance(0.06)
    what = {Scope.CATEGORY: category.plural, Scope.BRANDS: "Select Brands", Scope.EVERYTHING: "Storewide"}[scope]
    offer = "Buy 1 Get 1" if is_bundle else f"{percent}% OFF"
    name = (
        f"{draw.pick(words.SPECIAL_OCCASIONS)} [{offer} {what}]"
        if draw.chance(0.4)
        else f"{offer} {what}! *NOT Stackable "
    )
    return Campaign(
        id=draw.object_id(),
        name=name,
        scope=scope,
        category=category.key,
        brand_group=draw.integer(0, BRAND_GROUPS - 1),
        percent=percent,
        is_bundle=is_bundle,
    )
