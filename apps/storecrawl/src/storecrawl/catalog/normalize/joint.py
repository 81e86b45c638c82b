"""Read products of the Joint form: half normalized, figures as texts, one variant per option and menu type."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from storecrawl.catalog.normalize.details import (
    NAME_LIMIT,
    details_of,
    discount_type_of,
    menu_of,
    only_on,
    specials_of,
    tags_of,
)
from storecrawl.catalog.normalize.drafts import Draft, OptionDraft
from storecrawl.catalog.normalize.errors import Unusable
from storecrawl.catalog.normalize.menu import Details, Potency, Special
from storecrawl.catalog.normalize.records import (
    EMPTY,
    Record,
    clean_text,
    first_image,
    first_text,
    identifier,
    list_at,
    records_at,
)
from storecrawl.catalog.normalize.values import (
    SOURCE_CAP,
    Prices,
    decimal_of,
    moment_of,
    potency_between,
    prices_of,
    quantity_of,
)

KEY_MEMBERS = ("posId", "jointId", "urlFragment")


def draft_of(record: Record) -> Draft:
    """Read one product. A listed product counts as active, since this form has no status."""
    if not isinstance(record.get("variants"), list):
        raise Unusable("variants is missing or not a list")
    rec_only, medical_only = only_on(list_at(record, "menuType"))
    return Draft(
        name=record.get("name"),
        slug=record.get("urlFragment"),
        brand=first_text(record.get("brandName"), record.get("brandNameText")),
        brand_id=record.get("brandId"),
        category=record.get("category"),
        subcategory=record.get("subCategory"),
        strain_type=record.get("strainType"),
        description=record.get("description"),
        image_url=first_image(record.get("primaryImage"), *list_at(record, "images")),
        created_at=min(_moments(record, "createdAt"), default=None),
        updated_at=max(_moments(record, "updatedAt"), default=None),
        rec_only=rec_only,
        medical_only=medical_only,
        details=_details(record),
        thc=_potency(record, "potencyThc"),
        cbd=_potency(record, "potencyCbd"),
        active=True,
        below_threshold=False,
        options=tuple(_options(record)),
    )


def _moments(record: Record, name: str) -> list[datetime]:
    own = moment_of(record.get(name))
    of_options = (moment_of(variant.get(name)) for variant in records_at(record, "variants"))
    return [own] if own else [moment for moment in of_options if moment is not None]


def _details(record: Record) -> Details:
    applied = (each for variant in records_at(record, "variants") for each in records_at(variant, "appliedSpecials"))
    return details_of(
        record,
        cannabinoids=records_at(record, "cannabinoids"),
        specials=specials_of(
            (_special(stated, "sale") for stated in applied),
            (_special(stated, "conditional") for stated in records_at(record, "applicableSpecials")),
        ),
        tags=tags_of(*list_at(record, "tagList")),
    )


def _special(stated: Record, kind: str) -> Special:
    """Return a special: a sale if it already lowers a price, conditional if it is only applicable."""
    return Special(
        external_id=identifier(stated.get("specialId"), NAME_LIMIT),
        name=clean_text(stated.get("specialName"), NAME_LIMIT),
        kind=kind,
        discount_type=discount_type_of(stated.get("discountType")),
        discount=decimal_of(stated.get("discountAmount")),
    )


def _potency(record: Record, name: str) -> Potency | None:
    bounds = (record.get(f"{name}RangeLow"), record.get(f"{name}RangeHigh"))
    return potency_between(bounds, record.get(f"{name}Unit"))


def _options(record: Record) -> Iterable[OptionDraft]:
    by_option: dict[str | None, dict[str, Record]] = {}
    for variant in records_at(record, "variants"):
        menus = by_option.setdefault(clean_text(variant.get("option")), {})
        menus.setdefault(_menu_type(variant, record), variant)
    return [_option(menus) for menus in by_option.values()]


def _menu_type(variant: Record, record: Record) -> str:
    stated = first_text(variant.get("menuType"), *list_at(record, "menuType"))
    return "med" if menu_of(stated) == "med" else "rec"


def _option(menus: dict[str, Record]) -> OptionDraft:
    first = next(iter(menus.values()))
    quantity = quantity_of(*(variant.get("quantity") for variant in menus.values()))
    return OptionDraft(
        option=first.get("option"),
        prices=_prices(menus.get("rec", EMPTY), menus.get("med", EMPTY)),
        quantity=quantity,
        quantity_capped=quantity == SOURCE_CAP,
        canonical_id=first.get("jointId"),
    )


def _prices(rec: Record, med: Record) -> Prices:
    return prices_of(
        rec=rec.get("price"),
        med=med.get("price"),
        special_rec=rec.get("specialPrice"),
        special_med=med.get("specialPrice"),
    )
