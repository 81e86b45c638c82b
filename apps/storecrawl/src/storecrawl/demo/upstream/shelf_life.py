"""The changes of a menu over simulated time: the product, price and stock of each place."""

from __future__ import annotations

import msgspec

from storecrawl.demo.upstream.campaigns import Campaign, best_price
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.products import WorldProduct
from storecrawl.demo.upstream.stores import StockSource, StoreKind, WorldStore

CHAIN_SHARE = 0.32
SHARE_PRICED_APART = 0.015
BLIP_PERIOD = 400


class ShelfPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A place of a menu: its products follow each other, each for `lifetime` steps, with a `gap` between them."""

    number: int
    owner: str
    lifetime: int
    phase: int
    gap: int

    def generation_at(self, step: int) -> int | None:
        """Return the number of the product here at a step, or None in a gap."""
        generation, age = divmod(step + self.phase, self.lifetime)
        return None if age >= self.lifetime - self.gap else generation

    def started_at(self, generation: int) -> int:
        return generation * self.lifetime - self.phase


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A product in one store: its id and its selling habits. `first_step` may be negative."""

    id: str
    first_step: int
    price_factor: float
    stock_top: int
    restock_period: int
    sold_per_step: float
    phase: int
    blip: int
    is_inactive: bool
    medical_only: bool
    adult_only: bool

    def is_missing_at(self, step: int) -> bool:
        """Return whether the product is missing from the menu for this step only."""
        return (step * 7 + self.blip) % BLIP_PERIOD == 0

    def stock_at(self, step: int) -> int:
        sold = int(((step + self.phase) % self.restock_period) * self.sold_per_step)
        return max(0, self.stock_top - sold)


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A product at one step; prices (cents) and stock are parallel to the options."""

    options: tuple[str, ...]
    prices: tuple[int, ...]
    special_prices: tuple[int, ...]
    stock: tuple[int, ...] | None
    below_threshold: tuple[bool, ...]
    campaigns: tuple[Campaign, ...]

    def above_threshold(self) -> Offer | None:
        """Return the offer without nearly sold-out options, as customers see it; None if none is left."""
        if not any(self.below_threshold):
            return self
        numbers = [number for number, below in enumerate(self.below_threshold) if not below]
        return self._only(numbers) if numbers else None

    def _only(self, numbers: list[int]) -> Offer:
        return Offer(
            options=tuple(self.options[number] for number in numbers),
            prices=tuple(self.prices[number] for number in numbers),
            special_prices=tuple(self.special_prices[number] for number in numbers) if self.special_prices else (),
            stock=None if self.stock is None else tuple(self.stock[number] for number in numbers),
            below_threshold=(False,) * len(numbers),
            campaigns=self.campaigns,
        )


def make_places(seed: int, store: WorldStore) -> tuple[ShelfPlace, ...]:
    """Create the places of a store's menu; those of a chain are the same in all of its stores."""
    shared = 0 if store.chain is None else round(store.menu_size * CHAIN_SHARE)
    return (
        *_places(seed, f"chain-{store.chain}", shared),
        *_places(seed, f"store-{store.number}", store.menu_size - shared),
    )


def last_change(seed: int, store: WorldStore, place: ShelfPlace, step: int, share: float) -> int:
    """Return the last step up to `step` at which a place changed, given the share of changing places."""
    if share >= 1.0:
        return step
    turns = range(step, 0, -1)
    key = (seed, "change", store.number, place.owner, place.number)
    return next((turn for turn in turns if Draw(*key, turn).chance(share)), 0)


def make_placement(seed: int, store: WorldStore, place: ShelfPlace, generation: int) -> Placement:
    """Place a product in a store."""
    draw = Draw(seed, "placement", store.number, place.owner, place.number, generation)
    top, period = draw.integer(4, 75), draw.integer(8, 30)
    return Placement(
        id=draw.object_id(),
        first_step=place.started_at(generation),
        price_factor=1.1 if draw.chance(SHARE_PRICED_APART) else 1.0,
        stock_top=top,
        restock_period=period,
        sold_per_step=0.0 if draw.chance(0.12) else top * draw.real(0.7, 1.3) / period,
        phase=draw.integer(0, period - 1),
        blip=draw.integer(0, BLIP_PERIOD - 1),
        is_inactive=draw.chance(0.01),
        medical_only=store.kind is StoreKind.BOTH and draw.chance(0.04),
        adult_only=store.kind is StoreKind.BOTH and draw.chance(0.04),
    )


def make_offer(
    store: WorldStore, product: WorldProduct, placement: Placement, campaigns: tuple[Campaign, ...], step: int
) -> Offer:
    """Return the offer of a placed product at a step."""
    prices = tuple(_price(price, product, placement, step) for price in product.prices)
    active = tuple(campaign for campaign in campaigns if campaign.covers(product))
    is_reduced = any(not campaign.is_bundle for campaign in active)
    left = placement.stock_at(step)
    stock = tuple(left // (number + 1) for number in range(len(prices)))
    return Offer(
        options=product.options,
        prices=prices,
        special_prices=tuple(best_price(price, active) for price in prices) if is_reduced else (),
        stock=None if store.habits.stock_source is StockSource.NONE else stock,
        below_threshold=tuple(left_over < store.habits.below_threshold for left_over in stock),
        campaigns=active,
    )


def _places(seed: int, owner: str, count: int) -> list[ShelfPlace]:
    draw = Draw(seed, "places", owner)
    return [_place(draw, owner, number) for number in range(count)]


def _place(draw: Draw, owner: str, number: int) -> ShelfPlace:
    lifetime = draw.integer(30, 240)
    return ShelfPlace(
        number=number,
        owner=owner,
        lifetime=lifetime,
        phase=draw.integer(0, lifetime - 1),
        gap=draw.integer(0, lifetime // 8),
    )


def _price(price: int, product: WorldProduct, placement: Placement, step: int) -> int:
    turn = (step + product.price_phase) // product.price_period % len(product.price_moves)
    factor = product.price_moves[turn] * placement.price_factor
    # Whole dollars stay whole: shops keep their way of writing prices.
    return price if factor == 1.0 else max(75, round(price * factor / 100) * 100 + price % 100)
