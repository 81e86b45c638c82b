"""Read products with parallel arrays: today's GraphQL documents and their predecessors of 2019."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from storecrawl.catalog.normalize.categories import label_of
from storecrawl.catalog.normalize.details import (
    NAME_LIMIT,
    details_of,
    flag,
    menu_of,
    specials_by_id,
    specials_of,
    tags_of,
)
from storecrawl.catalog.normalize.drafts import Draft, OptionDraft
from storecrawl.catalog.normalize.errors import Unusable
from storecrawl.catalog.normalize.menu import Details, Special
from storecrawl.catalog.normalize.records import (
    EMPTY,
    Record,
    clean_text,
    first_image,
    first_text,
    identifier,
    list_at,
    record_at,
    records_at,
)
from storecrawl.catalog.normalize.values import (
    SOURCE_CAP,
    Prices,
    decimal_of,
    is_active,
    potency_of,
    quantity_of,
    special_cents,
    stated_cents,
)

KEY_MEMBERS = ("_id", "id", "cName")


@dataclass(frozen=True, slots=True)
class _OptionData:
    """Data of options that is joined by their text, never by position."""

    children: Mapping[str, Record]
    inventory: Mapping[str, Record]
    legacy: Mapping[str, Record]
    below: frozenset[str]


def draft_of(record: Record) -> Draft:
    """Read one product. Raises Unusable if its options are missing or not a list."""
    brand = record_at(record, "brand")
    return Draft(
        name=record.get("Name"),
        slug=record.get("cName"),
        brand=first_text(record.get("brandName"), brand.get("name")),
        brand_id=first_text(record.get("brandId"), brand.get("id"), brand.get("_id")),
        category=record.get("type"),
        subcategory=record.get("subcategory"),
        strain_type=record.get("strainType"),
        description=first_text(record.get("description"), record.get("Description")),
        image_url=first_image(record.get("Image"), images=records_at(record, "images")),
        created_at=record.get("createdAt"),
        updated_at=record.get("updatedAt"),
        rec_only=flag(record.get("recOnly")),
        medical_only=flag(record.get("medicalOnly")),
        details=_details(record),
        thc=potency_of(record.get("THCContent"), record.get("THC")),
        cbd=potency_of(record.get("CBDContent"), record.get("CBD")),
        active=is_active(record.get("Status")),
        below_threshold=record.get("isBelowThreshold") is True,
        options=_options(record),
        brand_logo_url=first_image(record.get("brandLogo"), brand.get("imageUrl")),
        # A record without the member has lost it: special prices are then not read.
        expects_special="special" not in record or record["special"] is True,
    )


def _details(record: Record) -> Details:
    per_option = records_at(record, "specialIdsPerOption")
    return details_of(
        record,
        cannabinoids=records_at(record, "cannabinoidsV2") or records_at(record, "cannabinoids"),
        specials=specials_of(_specials(record), specials_by_id(per_option, "conditionIds", "rewardIds")),
        tags=tags_of(*list_at(record, "tags"), record_at(record, "collectionCardBadge").get("title")),
    )


def _specials(record: Record) -> Iterable[Special]:
    data = record_at(record, "specialData")
    return [
        _special(special_record, kind)
        for kind in ("sale", "bogo")
        for special_record in records_at(data, f"{kind}Specials")
    ]


def _special(special_record: Record, kind: str) -> Special:
    target, discount = decimal_of(special_record.get("targetPrice")), decimal_of(special_record.get("discount"))
    types = {
        "target_price": target is not None or special_record.get("targetPrice") is True,
        "percent": special_record.get("percentDiscount") is True,
        "dollars": special_record.get("dollarDiscount") is True,
    }
    return Special(
        external_id=identifier(special_record.get("specialId"), NAME_LIMIT),
        name=clean_text(special_record.get("specialName"), NAME_LIMIT),
        kind=label_of(special_record.get("specialType")) or kind,
        menu=menu_of(special_record.get("menuType")),
        discount_type=next((name for name, is_so in types.items() if is_so), None),
        discount=discount if target is None else target,
    )


def _options(record: Record) -> tuple[OptionDraft, ...]:
    options = record.get("Options")
    if not isinstance(options, list):
        raise Unusable("Options is missing" if options is None else "Options is not a list")
    data = _option_data(record)
    return tuple(_option(record, position, option, data) for position, option in enumerate(options))


def _option_data(record: Record) -> _OptionData:
    below = (clean_text(option) for option in list_at(record, "optionsBelowThreshold"))
    return _OptionData(
        children=_key_by_option(records_at(record_at(record, "POSMetaData"), "children")),
        inventory=_key_by_option(records_at(record, "manualInventory")),
        legacy=_key_by_option(records_at(record, "quantities")),
        below=frozenset(option for option in below if option),
    )


def _key_by_option(members: list[Record]) -> dict[str, Record]:
    named = ((clean_text(member.get("option")), member) for member in reversed(members))
    return {option: member for option, member in named if option}


def _option(record: Record, position: int, option: object, data: _OptionData) -> OptionDraft:
    name = clean_text(option) or ""
    child = data.children.get(name, EMPTY)
    counted = quantity_of(child.get("quantityAvailable"), child.get("quantity"))
    return OptionDraft(
        option=option,
        prices=_prices(record, position, child),
        quantity=quantity_of(
            counted,
            data.inventory.get(name, EMPTY).get("inventory"),
            data.legacy.get(name, EMPTY).get("quantity"),
        ),
        quantity_capped=counted == SOURCE_CAP,
        below_threshold=name in data.below,
        dose_mg=child.get("canonicalEffectivePotencyMg"),
        sku=child.get("canonicalSKU") or record_at(record, "POSMetaData").get("canonicalSKU"),
        canonical_id=child.get("canonicalID"),
        canonical_name=child.get("canonicalName"),
    )


def _prices(record: Record, position: int, child: Record) -> Prices:
    common, child_price = _value_at(record, "Prices", position), child.get("price")
    rec = stated_cents(_value_at(record, "recPrices", position), common, child.get("recPrice"), child_price)
    med = stated_cents(_value_at(record, "medicalPrices", position), common, child.get("medPrice"), child_price)
    return Prices(
        rec=rec,
        med=med,
        special_rec=special_cents(_special_at(record, "recSpecialPrices", position), rec),
        special_med=special_cents(_special_at(record, "medicalSpecialPrices", position), med),
    )


def _value_at(record: Record, name: str, position: int) -> object:
    """Return the value of a list at an option's position; ignored if there are more or fewer of them than options."""
    values = list_at(record, name)
    return values[position] if len(values) == len(list_at(record, "Options")) else None


def _special_at(record: Record, name: str, position: int) -> object:
    return _value_at(record, name, position) if record.get("special") is True else None
