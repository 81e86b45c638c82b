"""The values that a normalized menu is made of, the same whatever shape the document had."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


class Shape(StrEnum):
    """The forms of menu document that are understood."""

    GRAPHQL = "graphql"
    PLUS = "plus"
    JOINT = "joint"
    LEGACY = "legacy"


class Availability(StrEnum):
    """What a customer may expect of a product; `removed_from_menu` is only ever decided by the catalog."""

    IN_STOCK = "in_stock"
    OUT_OF_STOCK = "out_of_stock"
    LIMITED = "limited"
    REMOVED_FROM_MENU = "removed_from_menu"
    UNKNOWN = "unknown"


class Category(StrEnum):
    """The one set of categories; the spelling of the source stays beside it."""

    FLOWER = "flower"
    PRE_ROLLS = "pre_rolls"
    VAPORIZERS = "vaporizers"
    CONCENTRATES = "concentrates"
    EDIBLES = "edibles"
    ORAL = "oral"
    TINCTURES = "tinctures"
    TOPICALS = "topicals"
    CBD = "cbd"
    ACCESSORIES = "accessories"
    APPAREL = "apparel"
    OTHER = "other"


class PotencyUnit(StrEnum):
    """What a potency figure counts; percent is of weight."""

    PERCENTAGE = "PERCENTAGE"
    MILLIGRAMS = "MILLIGRAMS"
    MILLIGRAMS_PER_GRAM = "MILLIGRAMS_PER_GRAM"
    MILLIGRAMS_PER_ML = "MILLIGRAMS_PER_ML"


@dataclass(frozen=True, slots=True, kw_only=True)
class Potency:
    """A potency range; one value stands in both ends. The unit is None where the source does not say it."""

    lo: Decimal
    hi: Decimal
    unit: PotencyUnit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What an option weighs, in g, mg or ml; ounces become the grams of the trade (1/8oz = 3.5 g)."""

    value: Decimal
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a product is said to do; the score is the source's own, None where it gives none."""

    name: str
    score: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """A cannabinoid or terpene; value and unit are None where the source does not say them."""

    name: str
    value: Decimal | None = None
    unit: PotencyUnit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Special:
    """A special that a product is named in, whether or not it lowers a price.

    `kind` is the source's ("sale", "bogo"), or what can be told: "conditional" needs something else to be bought,
    "condition" and "reward" are the two sides of one of which only the id is known. `menu` is "rec", "med" or "both".
    `discount` counts what `discount_type` says: "percent", "dollars" off, or the "target_price" in dollars.
    """

    external_id: str | None
    name: str | None
    kind: str | None
    menu: str | None = None
    discount_type: str | None = None
    discount: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What was measured, a value or one an option, in "mg", "g", "oz", "ml" or the source's own unit."""

    values: tuple[Decimal, ...]
    unit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a menu tells of a product beside its options; empty where the source says nothing."""

    effects: tuple[Effect, ...] = ()
    cannabinoids: tuple[Compound, ...] = ()
    terpenes: tuple[Compound, ...] = ()
    specials: tuple[Special, ...] = ()
    tags: tuple[str, ...] = ()
    net_weight: Measure | None = None
    volume: Measure | None = None


NO_DETAILS = Details()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One option of a product with its prices in cents; a special price is always below its regular one.

    What is eaten, drunk or rubbed in is sold by what is active in it: its option then says `dose_mg`, all of the
    package in milligrams, and no weight.
    """

    option: str
    option_raw: str
    weight: Weight | None = None
    dose_mg: Decimal | None = None
    pack_count: int | None = None
    price_rec_cents: int | None = None
    price_med_cents: int | None = None
    special_rec_cents: int | None = None
    special_med_cents: int | None = None
    quantity: int | None = None
    quantity_capped: bool = False
    """True when the source counts no further: `quantity` then means "at least"."""
    in_stock: bool = False
    sku: str | None = None
    canonical_id: str | None = None
    canonical_name: str | None = None

    @property
    def on_special(self) -> bool:
        """Whether either price is reduced."""
        return self.special_rec_cents is not None or self.special_med_cents is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One product of a store's menu; only `external_id`, the platform's key, is unique.

    `rec_only` and `medical_only` are None where the source does not say for whom it is. `created_at` and `updated_at`
    are the platform's own times.
    """

    external_id: str
    slug: str | None
    name: str
    name_raw: str
    brand: str | None
    brand_raw: str | None
    brand_external_id: str | None
    brand_logo_url: str | None = None
    category: Category | None
    category_raw: str | None
    subcategory: str | None
    subcategory_raw: str | None
    strain_type: str | None
    strain_type_raw: str | None
    thc: Potency | None
    cbd: Potency | None
    description: str | None
    image_url: str | None
    availability: Availability
    in_stock: bool
    created_at: datetime | None
    updated_at: datetime | None = None
    rec_only: bool | None = None
    medical_only: bool | None = None
    details: Details = NO_DETAILS
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A product that could not be used, and why; where `option` is set, only that option of it."""

    index: int
    external_id: str | None
    option: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A whole normalized document.

    `total_count` is what the source says that its menu holds, where it says so; of the `record_count` records
    of the document, `duplicates` were merged into an earlier one of the same key. A menu is `complete` where
    nothing can be left out of it; what an incomplete one lacks must not be taken for vanished.
    """

    shape: Shape
    products: tuple[Product, ...]
    refused: tuple[Refusal, ...]
    record_count: int
    duplicates: int
    total_count: int | None
    complete: bool

    @property
    def left_out(self) -> int | None:
        """How many products of the menu the document lacks; None where that is not known."""
        if self.complete:
            return 0
        lacking = None if self.total_count is None else self.total_count - (self.record_count - self.duplicates)
        return lacking if lacking is not None and lacking > 0 else None

    @property
    def variant_count(self) -> int:
        """Options over all products."""
        return sum(len(product.variants) for product in self.products)

    @property
    def refused_count(self) -> int:
        """Products that were refused whole; with those kept and the duplicates they are all records."""
        return sum(refusal.option is None for refusal in self.refused)

    @property
    def special_count(self) -> int:
        """Products of which at least one option is on special."""
        return sum(any(variant.on_special for variant in product.variants) for product in self.products)
