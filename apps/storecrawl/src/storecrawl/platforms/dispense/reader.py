"""Read menus of Dispense: amounts are numbers of dollars, a discounted price is given next to the regular one."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from storecrawl.catalog.normalize import Menu, NotAMenu, Potency, Special
from storecrawl.catalog.normalize.categories import label_of
from storecrawl.catalog.normalize.details import NAME_LIMIT, details_of, discount_type_of, specials_of, tags_of
from storecrawl.catalog.normalize.drafts import Draft, OptionDraft
from storecrawl.catalog.normalize.menu import Details, Shape
from storecrawl.catalog.normalize.normalizer import Reader, menu_of
from storecrawl.catalog.normalize.records import (
    Record,
    clean_text,
    first_image,
    first_text,
    identifier,
    list_at,
    record_at,
    records_at,
    without_markup,
)
from storecrawl.catalog.normalize.shapes import MenuRecords, count_of
from storecrawl.catalog.normalize.values import decimal_of, potency_between, prices_of, quantity_of
from storecrawl.platforms.envelopes import listed_records

KEY_MEMBERS = ("id", "_id")
LIST_MEMBER = "data"
TOTAL_MEMBER = "count"
MARKS = frozenset({"venue", "productCategory"})
UNIT_SUFFIX = "ContentUnit"
UNITS: Final = {"GRAMS": "g", "MILLIGRAMS": "mg", "OUNCES": "oz"}
SOLD_EACH = "each"
PLACEHOLDER = "/default-image"
_WORD_END = re.compile(r"(?<=[a-z])(?=[A-Z])")


def read(document: object) -> Menu:
    """Normalize a menu. Raises NotAMenu for documents of other platforms, and if no product is usable."""
    found = recognise(document)
    if found is None:
        raise NotAMenu("it has no list of Dispense products")
    return menu_of(found, READER)


def recognise(document: object) -> MenuRecords | None:
    """Return the products of a Dispense document, or None for any other."""
    return listed_records(
        document,
        Shape.DISPENSE,
        LIST_MEMBER,
        total_of=lambda envelope: count_of(envelope.get(TOTAL_MEMBER)),
        is_own=lambda record: record.keys() >= MARKS,
    )


def draft_of(record: Record) -> Draft:
    """Read one product; it counts as active unless it is disabled or deleted."""
    brand = record_at(record, "brand")
    labs = record_at(record, "labs")
    sizes = records_at(record, "variants") or [record]
    return Draft(
        name=record.get("name"),
        slug=record.get("slug"),
        brand=brand.get("name"),
        brand_id=brand.get("id"),
        category=first_text(
            record.get("cannabisComplianceType"), record.get("type"), record.get("productCategoryName")
        ),
        subcategory=record.get("subType"),
        strain_type=record.get("cannabisType"),
        description=without_markup(record.get("description")),
        image_url=_image(record),
        created_at=record.get("created"),
        updated_at=record.get("modified"),
        rec_only=None,
        medical_only=None,
        details=_details(record, labs),
        thc=_potency(labs, "thc"),
        cbd=_potency(labs, "cbd"),
        active=record.get("enable") is not False and record.get("deleted") is not True,
        below_threshold=record.get("isBelowQuantityThreshold") is True,
        options=tuple(map(_option, sizes)),
        brand_logo_url=first_image(brand.get("logo")),
        expects_special=bool(list_at(record, "discounts")),
    )


def _image(record: Record) -> str | None:
    listed = (image.get("fileUrl") for image in records_at(record, "images"))
    stated = [record.get("image"), *listed]
    # The platform shows its own picture if a product has none.
    return first_image(*(url for url in stated if isinstance(url, str) and PLACEHOLDER not in url))


def _details(record: Record, labs: Record) -> Details:
    figures = _measured(labs)
    terpenes = [
        {**each, "name": _WORD_END.sub(" ", name).title()} for name, each in figures if not _is_cannabinoid(name)
    ]
    return details_of(
        {
            "effects": record.get("effects"),
            "terpenes": terpenes or [{"name": name} for name in list_at(labs, "terpenes")],
        },
        cannabinoids=[{**each, "name": name.upper()} for name, each in figures if _is_cannabinoid(name)],
        specials=specials_of(map(_special, records_at(record, "discounts"))),
        tags=tags_of(*list_at(record, "tags")),
    )


def _special(discount: Record) -> Special:
    unit, value = discount_type_of(discount.get("type")), decimal_of(discount.get("value"))
    return Special(
        external_id=identifier(discount.get("productOffer"), NAME_LIMIT),
        name=clean_text(discount.get("name"), NAME_LIMIT),
        kind=label_of(discount.get("productOfferType")),
        discount_type=unit,
        discount=value * 100 if value is not None and unit == "percent" else value,
    )


def _measured(labs: Record) -> list[tuple[str, dict[str, object]]]:
    """Return the compounds with a figure and a unit by their member's name. A 0 means that it was not measured."""
    names = [member.removesuffix(UNIT_SUFFIX) for member in labs if member.endswith(UNIT_SUFFIX)]
    figures = ((name, labs.get(name), labs.get(f"{name}{UNIT_SUFFIX}")) for name in names)
    return [(name, {"value": value, "unit": unit}) for name, value, unit in figures if _positive(value) is not None]


def _is_cannabinoid(name: str) -> bool:
    return name.startswith(("thc", "cb"))


def _potency(labs: Record, name: str) -> Potency | None:
    """Return the highest figure, since the other one leaves out the acid that becomes the substance."""
    figures = (_positive(labs.get(member)) for member in (f"{name}Max", name))
    return potency_between(
        [next((each for each in figures if each is not None), None)], labs.get(f"{name}{UNIT_SUFFIX}")
    )


def _positive(stated: object) -> Decimal | None:
    figure = decimal_of(stated)
    return figure if figure is not None and figure > 0 else None


def _option(size: Record) -> OptionDraft:
    return OptionDraft(
        option=first_text(size.get("weightFormatted"), size.get("size")) or _size_of(size),
        # The platform has one price per size, and no list for patients. Gross and net prices are those with taxes.
        prices=prices_of(rec=size.get("price"), med=None, special_rec=size.get("priceWithDiscounts"), special_med=None),
        quantity=quantity_of(size.get("quantity")),
        below_threshold=size.get("isBelowQuantityThreshold") is True,
        sku=size.get("sku"),
        canonical_id=size.get("posProductId"),
    )


def _size_of(size: Record) -> str:
    """Return the size in words, from a number and its unit; not every shop has it written out."""
    amount, unit = decimal_of(size.get("weight")), UNITS.get(str(size.get("weightUnit")))
    return f"{amount:f}{unit}" if amount is not None and amount > 0 and unit else SOLD_EACH


READER = Reader(KEY_MEMBERS, draft_of)
