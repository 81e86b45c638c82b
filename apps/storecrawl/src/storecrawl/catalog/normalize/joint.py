"""Read products of the Joint form: half normalized, figures as texts, a variant per option and menu type."""

from __future__ import annotations

from collections.abc import Iterable

from storecrawl.catalog.normalize.drafts import Draft, OptionDraft
from storecrawl.catalog.normalize.errors import Unusable
from storecrawl.catalog.normalize.menu import Potency
from storecrawl.catalog.normalize.records import EMPTY, Record, clean_text, first_image, first_text, list_at, records_at
from storecrawl.catalog.normalize.values import SOURCE_CAP, Prices, potency_between, prices_of, quantity_of

KEY_MEMBERS = ("posId", "jointId", "urlFragment")


def draft_of(record: Record) -> Draft:
    """Read one product; being listed counts as active, since this form has no status."""
    if not isinstance(record.get("variants"), list):
        raise Unusable("variants is missing or no list")
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
        created_at=record.get("createdAt"),
        thc=_potency(record, "potencyThc"),
        cbd=_potency(record, "potencyCbd"),
        active=True,
        below_threshold=False,
        options=tuple(_options(record)),
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
    return "med" if isinstance(stated, str) and stated.upper().startswith("MED") else "rec"


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
