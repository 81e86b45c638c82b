"""Read menus of Weedmaps: an item has variants, or one price per unit or weight. A price of 0 is no price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from storecrawl.catalog.normalize import Menu, NotAMenu, Potency
from storecrawl.catalog.normalize.categories import category_of
from storecrawl.catalog.normalize.details import details_of, only_on
from storecrawl.catalog.normalize.details import menu_of as customers_of
from storecrawl.catalog.normalize.drafts import Draft, OptionDraft
from storecrawl.catalog.normalize.menu import Category, Details, Shape
from storecrawl.catalog.normalize.normalizer import Reader, menu_of
from storecrawl.catalog.normalize.records import (
    Record,
    first_image,
    first_text,
    record_at,
    records_at,
    without_markup,
)
from storecrawl.catalog.normalize.shapes import MenuRecords, count_of
from storecrawl.catalog.normalize.values import cents_of, potency_of, prices_of, quantity_of
from storecrawl.platforms.envelopes import listed_records

KEY_MEMBERS = ("id",)
LIST_MEMBER = "data"
RECORD_TYPE = "menu_item"
PLACEHOLDERS = "images.weedmaps.com/categories/"
HYBRID = "hybrid"
"""The license of shops for patients and others, which pay the same prices."""
SOLD_EACH = "each"
SIZES: Final = {
    "price_unit": SOLD_EACH,
    "price_half_gram": "0.5g",
    "price_gram": "1g",
    "price_two_grams": "2g",
    "price_eighth": "1/8oz",
    "price_quarter": "1/4oz",
    "price_half_ounce": "1/2oz",
    "price_ounce": "1oz",
}
OTHER_SIZES = "prices_other"


def read(document: object) -> Menu:
    """Normalize a menu. Raises NotAMenu for documents of other platforms, and if no item is usable."""
    found = recognise(document)
    if found is None:
        raise NotAMenu("it has no list of Weedmaps menu items")
    return menu_of(found, READER)


def recognise(document: object) -> MenuRecords | None:
    """Return the items of a Weedmaps document, or None for any other."""
    return listed_records(
        document,
        Shape.WEEDMAPS,
        LIST_MEMBER,
        total_of=lambda envelope: count_of(record_at(envelope, "meta").get("total")),
        is_own=lambda record: record.get("type") == RECORD_TYPE and "attributes" in record,
    )


def draft_of(record: Record) -> Draft:
    """Read one item. A published item without a quantity counts as in stock, since its shop does not count."""
    item = record_at(record, "attributes")
    rec_only, medical_only = only_on([item.get("license_type")])
    return Draft(
        name=item.get("name"),
        slug=item.get("slug"),
        brand=item.get("brand_name"),
        brand_id=record_at(record_at(record_at(record, "relationships"), "brand"), "data").get("id"),
        category=_category(item),
        subcategory=record_at(item, "sub_category").get("name"),
        strain_type=item.get("genetics"),
        description=without_markup(item.get("body")),
        image_url=_image(item),
        created_at=item.get("created_at"),
        updated_at=item.get("updated_at"),
        rec_only=rec_only,
        medical_only=medical_only,
        details=_details(item),
        thc=_potency(item, "thc"),
        cbd=_potency(item, "cbd"),
        active=item.get("is_published") is not False,
        below_threshold=False,
        options=tuple(_options(item)),
    )


def _category(item: Record) -> object:
    """Return the subcategory if it is a category of ours, as pre-rolls are, otherwise the platform's category."""
    finer = record_at(item, "sub_category").get("name")
    return item.get("category_name") if category_of(finer) in {None, Category.OTHER} else finer


def _image(item: Record) -> str | None:
    stated = (item.get(name) for name in ("original_picture_url", "picture_url", "avatar_image_url"))
    # The platform shows the picture of the category if an item has none.
    return first_image(*(url for url in stated if isinstance(url, str) and PLACEHOLDERS not in url))


def _details(item: Record) -> Details:
    measurements = records_at(item, "measurements")
    return details_of(
        {"terpenes": [each for each in measurements if each.get("classification") == "terpene"]},
        cannabinoids=(each for each in measurements if each.get("classification") == "cannabinoid"),
        specials=(),
        tags=(),
    )


def _potency(item: Record, name: str) -> Potency | None:
    for measurement in records_at(item, "measurements"):
        if str(measurement.get("name")).lower() == name:
            return potency_of({"formatted": measurement.get("value"), "unit": measurement.get("unit")})
    return potency_of(None, record_at(item, "cannabinoids").get(name))


def _options(item: Record) -> Iterator[OptionDraft]:
    variants = records_at(item, "variants")
    if variants:
        for variant in variants:
            yield from _sold(item, _size_of(variant), _amount(variant.get("price")), variant)
    else:
        prices = record_at(item, "prices")
        for member, size in SIZES.items():
            yield from _sold(item, size, prices.get(member), item)
        for size, amount in record_at(prices, OTHER_SIZES).items():
            yield from _sold(item, size, _amount(amount), item)


def _sold(item: Record, size: object, amount: object, stock: Record) -> Iterator[OptionDraft]:
    """Yield an option if it has a price: a 0 says that the item is not sold in this size."""
    if cents_of(amount) is None:
        return
    customers = customers_of(item.get("license_type"))
    is_hybrid = item.get("license_type") == HYBRID
    yield OptionDraft(
        option=size,
        prices=prices_of(
            rec=None if customers == "med" else amount,
            med=amount if customers == "med" or is_hybrid else None,
            special_rec=None,
            special_med=None,
        ),
        quantity=quantity_of(stock.get("inventory_quantity"), item.get("inventory_quantity")),
        sku=first_text(stock.get("sku"), item.get("sku")),
        canonical_id=first_text(stock.get("external_id"), item.get("external_id")),
    )


def _size_of(variant: Record) -> object:
    """Return the size in words: a number with its unit, such as "3.5g", or the variant's name."""
    weight = record_at(variant, "weight")
    value, unit = weight.get("value"), weight.get("unit")
    return f"{value}{unit}" if value and unit else first_text(variant.get("name"), variant.get("label")) or SOLD_EACH


def _amount(stated: object) -> object:
    """Return the amount of a price with a currency, or the price itself."""
    return stated.get("amount") if isinstance(stated, dict) else stated


READER = Reader(KEY_MEMBERS, draft_of)
