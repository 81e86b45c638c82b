"""Read menus of Jane: one price member per weight, exact discounted prices, and the total THC as a percentage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from storecrawl.catalog.normalize import Menu, NotAMenu, Special
from storecrawl.catalog.normalize.details import NAME_LIMIT, details_of, only_on, specials_of
from storecrawl.catalog.normalize.details import menu_of as customers_of
from storecrawl.catalog.normalize.drafts import Draft, OptionDraft
from storecrawl.catalog.normalize.errors import Unusable
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
)
from storecrawl.catalog.normalize.shapes import MenuRecords, count_of
from storecrawl.catalog.normalize.values import potency_between, prices_of
from storecrawl.platforms.envelopes import listed_records

KEY_MEMBERS = ("product_id", "object_id", "objectID")
LIST_MEMBER = "hits"
TOTAL_MEMBER = "nbHits"
ATTRIBUTES = "search_attributes"
PERCENT = "%"
SIZES: Final = {
    "each": "each",
    "half gram": "0.5g",
    "gram": "1g",
    "two gram": "2g",
    "eighth ounce": "1/8oz",
    "quarter ounce": "1/4oz",
    "half ounce": "1/2oz",
    "ounce": "1oz",
}


def read(document: object) -> Menu:
    """Normalize a menu. Raises NotAMenu for documents of other platforms, and if no hit is usable."""
    found = recognise(document)
    if found is None:
        raise NotAMenu("it has no list of Jane hits")
    return menu_of(found, READER)


def recognise(document: object) -> MenuRecords | None:
    """Return the hits of a Jane document, or None for any other."""
    return listed_records(
        document,
        Shape.JANE,
        LIST_MEMBER,
        total_of=lambda envelope: count_of(envelope.get(TOTAL_MEMBER)),
        is_own=lambda record: ATTRIBUTES in record,
    )


def draft_of(record: Record) -> Draft:
    """Read one hit. Raises Unusable if it has no attributes.

    A hit counts as active without a quantity: `max_cart_quantity` limits the cart and is no stock.
    """
    hit = record_at(record, ATTRIBUTES)
    if not hit:
        raise Unusable("it has no search_attributes")
    rec_only, medical_only = only_on(list_at(hit, "store_types"))
    return Draft(
        name=hit.get("name"),
        slug=hit.get("url_slug"),
        brand=hit.get("brand"),
        brand_id=hit.get("product_brand_id"),
        category=hit.get("kind"),
        subcategory=first_text(hit.get("root_subtype"), hit.get("kind_subtype")),
        strain_type=hit.get("category"),
        description=hit.get("description"),
        image_url=first_image(*list_at(hit, "image_urls")),
        created_at=None,
        updated_at=None,
        rec_only=rec_only,
        medical_only=medical_only,
        details=_details(hit),
        thc=potency_between([hit.get("percent_thc")], PERCENT),
        cbd=potency_between([hit.get("percent_cbd")], PERCENT),
        active=True,
        below_threshold=False,
        options=tuple(_options(hit)),
    )


def _details(hit: Record) -> Details:
    first_batch = next(iter(records_at(hit, "lab_results")), {})
    compounds = [{**each, "name": each.get("compound_name")} for each in records_at(first_batch, "lab_results")]
    special = Special(
        external_id=identifier(hit.get("special_id"), NAME_LIMIT),
        name=clean_text(hit.get("special_title"), NAME_LIMIT),
        kind="sale",
    )
    return details_of(
        {
            "effects": list_at(hit, "feelings"),
            "terpenes": [each for each in compounds if not _is_cannabinoid(each)],
            "measurements": {"netWeight": {"unit": "g", "values": [hit.get("net_weight_grams")]}},
        },
        cannabinoids=filter(_is_cannabinoid, compounds),
        specials=specials_of([special]),
        tags=(),
    )


def _is_cannabinoid(compound: Record) -> bool:
    return str(compound.get("name")).upper().startswith(("THC", "CB"))


def _options(hit: Record) -> Iterator[OptionDraft]:
    customers = {customers_of(each) for each in list_at(hit, "store_types")} - {None} or {"rec"}
    for weight in list_at(hit, "available_weights"):
        member = str(weight).replace(" ", "_")
        price, special = hit.get(f"price_{member}"), hit.get(f"discounted_price_{member}")
        is_rec, is_med = "rec" in customers, "med" in customers
        yield OptionDraft(
            option=SIZES.get(str(weight), weight),
            prices=prices_of(
                rec=price if is_rec else None,
                med=price if is_med else None,
                special_rec=special if is_rec else None,
                special_med=special if is_med else None,
            ),
            quantity=None,
        )


READER = Reader(KEY_MEMBERS, draft_of)
