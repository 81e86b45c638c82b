"""The common form between a source's record and a product, and its conversion to a product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storecrawl.catalog.normalize.categories import DOSED, category_of, strain_of, subcategory_of
from storecrawl.catalog.normalize.errors import Unusable
from storecrawl.catalog.normalize.menu import Category, Details, Potency, Product, Variant
from storecrawl.catalog.normalize.records import DESCRIPTION_LIMIT, RAW_LIMIT, clean_text, identifier, raw_text
from storecrawl.catalog.normalize.values import (
    OptionStock,
    Prices,
    Stock,
    dose_of,
    is_dose,
    moment_of,
    pack_count_of,
    stock_of,
    weight_of,
)

NAME_LIMIT = 500
OPTION_LIMIT = 100
LABEL_LIMIT = 200
ID_LIMIT = 200

RefuseOption = Callable[[str | None, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDraft:
    """An option as its source has it, with parsed figures."""

    option: object
    prices: Prices
    quantity: int | None
    quantity_capped: bool = False
    below_threshold: bool = False
    dose_mg: object = None
    sku: object = None
    canonical_id: object = None
    canonical_name: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A product as its source has it, with raw texts and parsed figures."""

    name: object
    slug: object
    brand: object
    brand_id: object
    category: object
    subcategory: object
    strain_type: object
    description: object
    image_url: str | None
    created_at: object
    updated_at: object
    rec_only: bool | None
    medical_only: bool | None
    details: Details
    thc: Potency | None
    cbd: Potency | None
    active: bool | None
    below_threshold: bool
    options: tuple[OptionDraft, ...]
    brand_logo_url: str | None = None
    expects_special: bool | None = None


def product_of(external_id: str, draft: Draft, refuse_option: RefuseOption) -> Product:
    """Turn a draft into a product. Raises Unusable if it has no name, or has options but no usable one."""
    name = _name(draft.name)
    options = _usable_options(draft.options, refuse_option)
    if draft.options and not options:
        raise Unusable("none of its options can be used")
    category = category_of(draft.category)
    stock = stock_of(draft.active, draft.below_threshold, [_option_stock(option) for option in options.values()])
    return Product(
        external_id=external_id,
        slug=clean_text(draft.slug, LABEL_LIMIT),
        name=name,
        name_raw=raw_text(draft.name) or name,
        brand=clean_text(draft.brand, LABEL_LIMIT),
        brand_raw=raw_text(draft.brand),
        brand_external_id=identifier(draft.brand_id, ID_LIMIT),
        brand_logo_url=draft.brand_logo_url,
        category=category,
        category_raw=raw_text(draft.category),
        subcategory=subcategory_of(draft.subcategory),
        subcategory_raw=raw_text(draft.subcategory),
        strain_type=strain_of(draft.strain_type),
        strain_type_raw=raw_text(draft.strain_type),
        thc=draft.thc,
        cbd=draft.cbd,
        description=clean_text(draft.description, DESCRIPTION_LIMIT),
        image_url=draft.image_url,
        availability=stock.availability,
        in_stock=stock.in_stock,
        created_at=moment_of(draft.created_at),
        updated_at=moment_of(draft.updated_at),
        rec_only=draft.rec_only,
        medical_only=draft.medical_only,
        details=draft.details,
        expects_special=draft.expects_special,
        variants=_variants(options, stock, category),
    )


def _name(raw: object) -> str:
    name = clean_text(raw, NAME_LIMIT + 1)
    if name is None:
        raise Unusable("it has no name")
    if len(name) > NAME_LIMIT:
        raise Unusable(f"its name is longer than {NAME_LIMIT} characters")
    return name


def _usable_options(drafts: tuple[OptionDraft, ...], refuse_option: RefuseOption) -> dict[str, OptionDraft]:
    usable: dict[str, OptionDraft] = {}
    for draft in drafts:
        option = clean_text(draft.option, OPTION_LIMIT + 1)
        problem = _option_problem(option, usable)
        if option is None or problem:
            refuse_option(option and option[:OPTION_LIMIT], problem or "the option has no name")
        else:
            usable[option] = draft
    return usable


def _option_problem(option: str | None, usable: dict[str, OptionDraft]) -> str | None:
    if option in usable:
        return "the option occurs twice; the first was kept"
    if option is not None and len(option) > OPTION_LIMIT:
        return f"the option is longer than {OPTION_LIMIT} characters"
    return None


def _option_stock(draft: OptionDraft) -> OptionStock:
    return OptionStock(quantity=draft.quantity, below_threshold=draft.below_threshold)


def _variants(options: dict[str, OptionDraft], stock: Stock, category: Category | None) -> tuple[Variant, ...]:
    verdicts = zip(options.items(), stock.options_in_stock, strict=True)
    return tuple(_variant(option, draft, in_stock, category) for (option, draft), in_stock in verdicts)


def _variant(option: str, draft: OptionDraft, in_stock: bool, category: Category | None) -> Variant:
    amount = weight_of(option)
    dose = dose_of(amount, draft.dose_mg) if category in DOSED else None
    return Variant(
        option=option,
        option_raw=raw_text(draft.option, RAW_LIMIT) or option,
        weight=None if dose is not None and is_dose(amount) else amount,
        dose_mg=dose,
        pack_count=pack_count_of(option),
        price_rec_cents=draft.prices.rec,
        price_med_cents=draft.prices.med,
        special_rec_cents=draft.prices.special_rec,
        special_med_cents=draft.prices.special_med,
        quantity=draft.quantity,
        quantity_capped=draft.quantity_capped,
        in_stock=in_stock,
        sku=identifier(draft.sku, LABEL_LIMIT),
        canonical_id=identifier(draft.canonical_id, ID_LIMIT),
        canonical_name=clean_text(draft.canonical_name, NAME_LIMIT),
    )
