"""The values of a normalized menu, the same for every form of document."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum


class Shape(StrEnum):
    """The supported forms of menu documents."""

    GRAPHQL = "graphql"
    PLUS = "plus"
    JOINT = "joint"
    LEGACY = "legacy"
    DISPENSE = "dispense"
    WEEDMAPS = "weedmaps"
    JANE = "jane"


class Availability(StrEnum):
    """Whether a customer can buy a product. Only the catalog sets `removed_from_menu`."""

    IN_STOCK = "in_stock"
    OUT_OF_STOCK = "out_of_stock"
    LIMITED = "limited"
    REMOVED_FROM_MENU = "removed_from_menu"
    UNKNOWN = "unknown"


class Category(StrEnum):
    """The normalized categories; products also have the source's spelling."""

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
    """The unit of a potency; percent is of weight."""

    PERCENTAGE = "PERCENTAGE"
    MILLIGRAMS = "MILLIGRAMS"
    MILLIGRAMS_PER_GRAM = "MILLIGRAMS_PER_GRAM"
    MILLIGRAMS_PER_ML = "MILLIGRAMS_PER_ML"


@dataclass(frozen=True, slots=True, kw_only=True)
class Potency:
    """A potency range; a single value is both ends. The unit is None if the source gives none."""

    lo: Decimal
    hi: Decimal
    unit: PotencyUnit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """The weight of an option in g, mg or ml; ounces are converted as is usual in the trade (1/8oz = 3.5 g)."""

    value: Decimal
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A claimed effect of a product; the score is the source's own, or None."""

    name: str
    score: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """A cannabinoid or terpene; value and unit are None if the source gives none."""

    name: str
    value: Decimal | None = None
    unit: PotencyUnit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Special:
    """A special that names a product, whether or not it lowers a price.

    `kind` is the source's ("sale", "bogo") or derived: "conditional" requires another purchase; "condition"
    and "reward" are the two sides of a special of which only the id is known. `menu` is "rec", "med" or
    "both". `discount_type` is the unit of `discount`: "percent", "dollars" off, or "target_price" in
    dollars.
    """

    external_id: str | None
    name: str | None
    kind: str | None
    menu: str | None = None
    discount_type: str | None = None
    discount: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measurement with one value, or one per option, in "mg", "g", "oz", "ml" or the source's own unit."""

    values: tuple[Decimal, ...]
    unit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """A product's data that does not belong to an option; empty if the source gives none."""

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
    """An option of a product with its prices in cents; a special price is always lower than the regular one.

    Edibles, drinks and topicals are sold by their active substance. Their options have `dose_mg`, the
    milligrams in the whole package, and no weight.
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
    """True if the source stops counting here: `quantity` then means "at least"."""
    in_stock: bool = False
    sku: str | None = None
    canonical_id: str | None = None
    canonical_name: str | None = None

    @property
    def on_special(self) -> bool:
        return self.special_rec_cents is not None or self.special_med_cents is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of a store's menu; only `external_id`, the platform's key, is unique.

    `rec_only` and `medical_only` are None if the source does not state them. `created_at` and `updated_at`
    are the platform's times. `expects_special` is False if the source marks the product as not on special,
    and None if documents of this form have no such mark.
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
    expects_special: bool | None = None
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A product, or one `option` of it, that could not be used, and the reason."""

    index: int
    external_id: str | None
    option: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A normalized document.

    `total_count` is the number of products that the source claims for its menu. Of the `record_count`
    records, `duplicates` were merged into an earlier one with the same key. A menu is `complete` if nothing
    can be missing from it; a product missing from an incomplete menu must not be considered gone.
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
        """How many products of the menu the document lacks; None if unknown."""
        if self.complete:
            return 0
        lacking = None if self.total_count is None else self.total_count - (self.record_count - self.duplicates)
        return lacking if lacking is not None and lacking > 0 else None

    @property
    def variant_count(self) -> int:
        return sum(len(product.variants) for product in self.products)

    @property
    def refused_count(self) -> int:
        """Completely refused products. With the products and the duplicates they make up all records."""
        return sum(refusal.option is None for refusal in self.refused)

    @property
    def special_count(self) -> int:
        return sum(any(variant.on_special for variant in product.variants) for product in self.products)
