"""Read products of the Plus form: one object per variant, prices by name, no status."""

from __future__ import annotations

from storecrawl.catalog.normalize.details import details_of, only_on, specials_by_id, specials_of, tags_of
from storecrawl.catalog.normalize.drafts import Draft, OptionDraft
from storecrawl.catalog.normalize.errors import Unusable
from storecrawl.catalog.normalize.menu import Details
from storecrawl.catalog.normalize.records import Record, first_image, list_at, record_at, records_at
from storecrawl.catalog.normalize.values import SOURCE_CAP, potency_of, prices_of, quantity_of

KEY_MEMBERS = ("id", "slug")


def draft_of(record: Record) -> Draft:
    """Read one product. A listed product counts as active, since this form has no status."""
    brand, pos = record_at(record, "brand"), record_at(record, "posMetaData")
    if not isinstance(record.get("variants"), list):
        raise Unusable("variants is missing or not a list")
    rec_only, medical_only = only_on(list_at(record, "menuTypes"))
    return Draft(
        name=record.get("name"),
        slug=record.get("slug"),
        brand=brand.get("name"),
        brand_id=brand.get("id"),
        category=record.get("category"),
        subcategory=record.get("subcategory"),
        strain_type=record.get("strainType"),
        description=record.get("description"),
        image_url=first_image(record.get("image"), images=records_at(record, "images")),
        created_at=record.get("createdAt"),
        updated_at=record.get("updatedAt"),
        rec_only=rec_only,
        medical_only=medical_only,
        details=_details(record),
        thc=potency_of(record.get("potencyThc")),
        cbd=potency_of(record.get("potencyCbd")),
        active=True,
        below_threshold=False,
        options=tuple(_option(variant, pos.get("sku")) for variant in records_at(record, "variants")),
        brand_logo_url=first_image(brand.get("imageUrl")),
    )


def _details(record: Record) -> Details:
    by_id = specials_by_id(records_at(record, "variants"), "specialConditionIds", "specialRewardIds")
    return details_of(
        record,
        cannabinoids=records_at(record, "cannabinoids"),
        specials=specials_of(by_id),
        tags=tags_of(*list_at(record, "tags")),
    )


def _option(variant: Record, sku: object) -> OptionDraft:
    quantity = quantity_of(variant.get("quantity"))
    return OptionDraft(
        option=variant.get("option"),
        prices=prices_of(
            rec=variant.get("priceRec"),
            med=variant.get("priceMed"),
            special_rec=variant.get("specialPriceRec"),
            special_med=variant.get("specialPriceMed"),
        ),
        quantity=quantity,
        quantity_capped=quantity == SOURCE_CAP,
        sku=sku,
        canonical_id=variant.get("id"),
    )
