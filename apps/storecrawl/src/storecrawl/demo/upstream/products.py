"""Products as their owner (a chain or a store) lists them: the attributes that do not change."""

from __future__ import annotations

import msgspec

from storecrawl.demo.upstream import words
from storecrawl.demo.upstream.categories import (
    ACCESSORIES,
    APPAREL,
    APPAREL_SIZES,
    CATEGORIES,
    EDIBLES,
    FLOWER,
    FLOWER_SIZES,
    GRAMS,
    ORAL,
    OUNCES,
    STRAINS,
    TINCTURES,
    TOPICALS,
    Category,
    Potency,
)
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.stores import MenuHabits

BRANDS = 140
SHARE_WITHOUT_BRAND = 0.01
SHARE_OF_SAME_NAMES = 0.03
SIZE_DISCOUNT = 0.86
PRICE_MOVES = (1.0, 1.0, 0.95, 1.05, 1.1, 0.9, 0.85, 1.15)


class Brand(msgspec.Struct, frozen=True, kw_only=True):
    """A brand of products; some have a trailing blank in their name."""

    number: int
    id: str
    name: str
    description: str
    image: str


class WorldProduct(msgspec.Struct, frozen=True, kw_only=True):
    """A product; `prices` (cents) are parallel to `options` and cycle through `price_moves`."""

    category: Category
    type_name: str
    brand: Brand | None
    name: str
    strain_type: str
    subcategory: str | None
    description: str
    options: tuple[str, ...]
    prices: tuple[int, ...]
    price_moves: tuple[float, ...]
    price_period: int
    price_phase: int
    thc: float
    image: str
    enterprise_id: str | None


class Shelf(msgspec.Struct, frozen=True, kw_only=True):
    """The source of an owner's products: its habits and all brands."""

    habits: MenuHabits
    brands: tuple[Brand, ...]


class Title(msgspec.Struct, frozen=True, kw_only=True):
    """The common attributes of two sizes of a product."""

    category: Category
    brand: Brand | None
    what: str
    gap: str
    form: str


def make_brands(seed: int) -> tuple[Brand, ...]:
    """Create the brands of a world."""
    return tuple(_brand(Draw(seed, "brand", number), number) for number in range(BRANDS))


def make_product(seed: int, owner: str, place: int, generation: int, shelf: Shelf) -> WorldProduct:
    """Create the product at a place of an owner's menu; `generation` counts its predecessors there."""
    draw = Draw(seed, owner, place, generation)
    # Another size of a product has a separate id, and the name and brand of its neighbor.
    is_twin = draw.chance(SHARE_OF_SAME_NAMES)
    title = _title(Draw(seed, owner, place - 1, generation, skip=1) if is_twin else draw, shelf)
    category, habits = title.category, shelf.habits
    sizes = _sizes(draw, category)
    return WorldProduct(
        category=category,
        type_name=category.plural if habits.names_types_plural else category.singular,
        brand=title.brand,
        name=_name(title, sizes[0]),
        strain_type="N/A" if category.potency is Potency.NONE else draw.pick_weighted(STRAINS),
        subcategory=draw.pick(category.subcategories),
        description=_sentences(draw, 4),
        options=tuple(_size_text(size, category, habits) for size in sizes),
        prices=_prices(draw, category, sizes, habits),
        price_moves=tuple(draw.pick(PRICE_MOVES) for _ in range(4)),
        price_period=draw.integer(20, 90),
        price_phase=draw.integer(0, 359),
        thc=_thc(draw, category),
        image=draw.object_id(),
        enterprise_id=draw.uuid() if owner.startswith("chain") else None,
    )


def _brand(draw: Draw, number: int) -> Brand:
    first = words.BRAND_FIRST[number % len(words.BRAND_FIRST)]
    name = first if draw.chance(0.12) else f"{first} {draw.pick(words.BRAND_SECOND)}"
    return Brand(
        number=number,
        id=draw.uuid(),
        name=f"{name} " if draw.chance(0.08) else name,
        description=_sentences(draw, 3),
        image=draw.object_id(),
    )


def _sizes(draw: Draw, category: Category) -> tuple[str, ...]:
    if not draw.chance(category.several_sizes):
        return (draw.pick_weighted(category.sizes),)
    choices = APPAREL_SIZES if category is APPAREL else FLOWER_SIZES
    count = draw.integer(2, len(choices))
    first = draw.integer(0, len(choices) - count)
    return choices[first : first + count]


def _size_text(size: str, category: Category, habits: MenuHabits) -> str:
    if category.key == "concentrates" and habits.marks_concentrates and size == "1g":
        return "1gC"
    return OUNCES.get(size, size) if category is FLOWER and habits.weighs_in_ounces else size


def _prices(draw: Draw, category: Category, sizes: tuple[str, ...], habits: MenuHabits) -> tuple[int, ...]:
    base = draw.lognormal(category.price_median, category.price_sigma)
    cents = draw.pick((0, 25, 50, 75, 95, 99)) if habits.prices_with_cents else 0
    factors = (
        (GRAMS.get(size, category.reference_grams) / category.reference_grams) ** SIZE_DISCOUNT for size in sizes
    )
    clamped = (min(category.price_highest, max(category.price_lowest, base * factor)) for factor in factors)
    return tuple(max(category.price_lowest, int(price) // 100 * 100 + cents) for price in clamped)


def _thc(draw: Draw, category: Category) -> float:
    if category.potency is Potency.MILLIGRAMS:
        return float(draw.pick((100, 100, 100, 50, 10, 200, 500, 1000)))
    return round(draw.real(*category.strength), 3)


def _sentences(draw: Draw, most: int) -> str:
    return " ".join(draw.pick(words.DESCRIPTION_PARTS) for _ in range(draw.integer(0, most)))


def _title(draw: Draw, shelf: Shelf) -> Title:
    category = draw.pick_weighted(CATEGORIES)
    brand = None if draw.chance(SHARE_WITHOUT_BRAND) else shelf.brands[int(BRANDS * draw.share() ** 1.6)]
    return Title(
        category=category,
        brand=brand,
        what=_product_noun(draw, category),
        gap="  " if draw.chance(0.018) else " ",
        form="{what}{gap}| {size}" if shelf.habits.writes_pipes else draw.pick(words.NAME_FORMS),
    )


def _name(title: Title, size: str) -> str:
    if title.category.potency is Potency.NONE:
        return title.what
    brand = "House" if title.brand is None else title.brand.name.strip()
    shown = size if size in GRAMS and title.category is not FLOWER else title.category.singular
    return title.form.format(brand=brand, what=title.what, gap=title.gap, size=shown)


def _product_noun(draw: Draw, category: Category) -> str:
    if category is ACCESSORIES:
        return f"{draw.pick(words.GEAR)}{draw.pick(words.GEAR_TAILS)}"
    if category is APPAREL:
        return draw.pick(words.CLOTHING)
    if category is TOPICALS:
        return f"{draw.pick(words.BALMS)} {draw.pick(words.BALM_TAILS)}"
    if category in (EDIBLES, ORAL, TINCTURES):
        return f"{draw.pick(words.FLAVORS)} {draw.pick(words.SWEETS)}"
    strain = f"{draw.pick(words.STRAIN_FIRST)} {draw.pick(words.STRAIN_SECOND)}"
    return strain if draw.chance(0.3) else f"{strain} {draw.pick(words.STRAIN_TAILS)}"
