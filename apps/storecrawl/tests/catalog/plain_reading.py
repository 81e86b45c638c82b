"""A second, independent reader of menus, value by value.

It shares no code with the normalizer that it checks: figures are decimals from the beginning, products are
searched in the whole document, and each rule is written as the documents state it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

COUNTS = {"totalCount", "productsCount", "products_count"}
CATEGORIES = {
    "flower": "flower", "preroll": "pre_rolls", "vap": "vaporizers", "concentrate": "concentrates", "edible": "edibles",
    "oral": "oral", "tincture": "tinctures", "topical": "topicals", "cbd": "cbd", "accessor": "accessories",
    "apparel": "apparel",
}  # fmt: skip
BY_DOSE = {"edibles", "oral", "tinctures", "topicals"}
UNITS = {"%": "PERCENTAGE", "mg": "MILLIGRAMS", "mg/g": "MILLIGRAMS_PER_GRAM", "mg/ml": "MILLIGRAMS_PER_ML"}
DISCOUNTS = {"DOLLAR_AMOUNT": "dollars", "TARGET_PRICE": "target_price"}
AMOUNT = re.compile(r"(?:(\d+)pk/)?(\d*\.?\d+)(?:/(\d+))?(mg|g|oz|ml)C?")

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The values of each product by its key, and the largest count near the list."""

    products: dict[str, Values]
    claimed: int | None


def read(content: bytes) -> Reading | None:
    """Read a menu; None if it has no products with options."""
    try:
        document = json.loads(content, parse_float=Decimal)
    except ValueError:
        return None
    lists = [(members, claimed) for members, claimed in _lists(document, None) if any(map(_is_product, members))]
    if not lists:
        return None
    members, claimed = max(lists, key=lambda each: len(each[0]))
    return Reading(products=dict(map(_product, members)), claimed=claimed)


def _lists(value: Any, claimed: int | None) -> Iterator[tuple[list[Any], int | None]]:
    if isinstance(value, list):
        yield value, claimed
    elif isinstance(value, dict):
        beside = [value[name] for name in COUNTS & value.keys()]
        beside += [value["queryInfo"]["totalCount"]] if "queryInfo" in value else []
        for member in value.values():
            yield from _lists(member, max(beside, default=claimed))


def _is_product(member: Any) -> bool:
    if not isinstance(member, dict):
        return False
    return "Options" in member or any("option" in variant for variant in member.get("variants") or [])


def _product(record: dict[str, Any]) -> tuple[str, Values]:
    if "Options" in record:
        return _parallel(record)
    return _joint(record) if "jointId" in record else _plus(record)


def _parallel(record: dict[str, Any]) -> tuple[str, Values]:
    category, specials = _category(record["type"]), record.get("specialData") or {}
    values = {
        "name": _text(record["Name"]),
        "brand": _text(record.get("brandName")),
        "category": category,
        "subcategory": _subcategory(record.get("subcategory")),
        "strain": _strain(record["strainType"]),
        "thc": _content(record["THCContent"]) or _content(record.get("THC")),
        "cbd": _content(record["CBDContent"]) or _content(record.get("CBD")),
        "made": _moment(record["createdAt"]),
        "changed": _moment(record["updatedAt"]),
        "rec_only": record.get("recOnly"),
        "medical_only": record.get("medicalOnly"),
        "effects": sorted(
            [(name.lower().replace("-", "_"), score) for name, score in (record.get("effects") or {}).items()],
            key=lambda each: (-each[1], each[0]),
        ),
        "cannabinoids": [_compound(each, each["cannabinoid"]["name"]) for each in record.get("cannabinoidsV2") or []],
        "terpenes": [_compound(each, each["name"]) for each in record.get("terpenes") or []],
        "specials": [_sale(each) for kind in ("saleSpecials", "bogoSpecials") for each in specials.get(kind) or []],
        "tags": [record["collectionCardBadge"]["title"]] if record.get("collectionCardBadge") else [],
    }
    stock = {each["option"]: each["inventory"] for each in record.get("manualInventory") or []}
    stock |= {each["option"]: each["quantity"] for each in record.get("quantities") or []}
    for place, option in enumerate(record["Options"]):
        regular = [_cents(_list_value(record, place, name, "Prices")) for name in ("recPrices", "medicalPrices")]
        on_special = [
            _list_value(record, place, name) if record.get("special") is True else None
            for name in ("recSpecialPrices", "medicalSpecialPrices")
        ]
        values |= _option(option, category, regular, on_special, stock.get(option))
    values["in_stock"] = record["Status"] == "Active" and (not stock or sum(stock.values()) > 0)
    return record.get("_id") or record["id"], values


def _plus(record: dict[str, Any]) -> tuple[str, Values]:
    category, menus = _category(record["category"]), set(record["menuTypes"])
    values = {
        **_common(record, record["subcategory"]),
        "brand": _text(record["brand"]["name"]),
        "thc": _content(record["potencyThc"]),
        "cbd": _content(record["potencyCbd"]),
        "made": None,
        "changed": None,
        "rec_only": menus == {"RECREATIONAL"},
        "medical_only": menus == {"MEDICAL"},
        "cannabinoids": [_compound(each, each["cannabinoid"]["name"]) for each in record["cannabinoids"]],
        "specials": [],
        "tags": record["tags"],
        "in_stock": any(variant["quantity"] > 0 for variant in record["variants"]),
    }
    for variant in record["variants"]:
        regular = [_cents(variant["priceRec"]), _cents(variant["priceMed"])]
        special = [variant["specialPriceRec"], variant["specialPriceMed"]]
        values |= _option(variant["option"], category, regular, special, variant["quantity"])
    return record["id"], values


def _joint(record: dict[str, Any]) -> tuple[str, Values]:
    category, variants = _category(record["category"]), record["variants"]
    sales = {each["specialId"]: _deal(each, "sale") for variant in variants for each in variant["appliedSpecials"]}
    deals = {each["specialId"]: _deal(each, "conditional") for each in record["applicableSpecials"]}
    values = {
        **_common(record, record["subCategory"]),
        "brand": _text(record["brandName"] or record["brandNameText"]),
        "thc": _bounds(record, "potencyThc"),
        "cbd": _bounds(record, "potencyCbd"),
        "made": min(_moment(variant["createdAt"]) for variant in variants),
        "changed": max(_moment(variant["updatedAt"]) for variant in variants),
        "rec_only": record["menuType"] == ["RECREATIONAL"],
        "medical_only": record["menuType"] == ["MEDICAL"],
        "cannabinoids": [_compound(each, each["name"]) for each in record["cannabinoids"]],
        "specials": [*sales.values(), *(deal for key, deal in deals.items() if key not in sales)],
        "tags": record["tagList"],
        "in_stock": any(int(variant["quantity"]) > 0 for variant in variants),
    }
    for variant in variants:
        regular = [_cents(variant["price"]), None]
        values |= _option(variant["option"], category, regular, [variant["specialPrice"], None], variant["quantity"])
    return record["posId"], values


def _common(record: dict[str, Any], subcategory: str) -> Values:
    return {
        "name": _text(record["name"]),
        "category": _category(record["category"]),
        "subcategory": _subcategory(subcategory),
        "strain": _strain(record["strainType"]),
        "effects": [(name.lower(), None) for name in record["effects"]],
        "terpenes": [_compound(each, each["name"]) for each in record["terpenes"]],
    }


def _option(option: str, category: str, regular: list[Any], special: list[Any], quantity: Any) -> Values:
    found = AMOUNT.fullmatch(option)
    amount = dose = None
    if found:
        number, unit = Decimal(found[2]) / int(found[3] or 1), found[4]
        amount = (number * 28, "g") if unit == "oz" else (number, unit)
        if category in BY_DOSE and (unit == "mg" or (unit == "g" and number < 1)):
            amount, dose = None, number * (1 if unit == "mg" else 1000)
    reduced = [_cents(price) for price in special]
    name = _text(option)
    return {
        f"{name}: rec": regular[0],
        f"{name}: med": regular[1],
        f"{name}: special rec": reduced[0] if reduced[0] and regular[0] and reduced[0] < regular[0] else None,
        f"{name}: special med": reduced[1] if reduced[1] and regular[1] and reduced[1] < regular[1] else None,
        f"{name}: quantity": None if quantity is None else int(quantity),
        f"{name}: weight": amount,
        f"{name}: dose": dose,
        f"{name}: pieces": int(found[1]) if found and found[1] else None,
    }


def _list_value(record: dict[str, Any], place: int, *names: str) -> Any:
    at_place = (record[name][place] for name in names if len(record.get(name) or []) > place)
    return next((value for value in at_place if value is not None), None)


def _cents(dollars: Any) -> int | None:
    if dollars is None:
        return None
    return int((Decimal(dollars) * 100).to_integral_value(ROUND_HALF_UP)) or None


def _content(content: Any) -> tuple[Decimal, Decimal, str | None] | None:
    """Today's documents have a unit with a range or a value, the oldest ones a bare figure."""
    if not isinstance(content, dict):
        return (Decimal(content), Decimal(content), None) if content is not None else None
    figures = content.get("range") or ([content["value"]] if content.get("value") is not None else [])
    return _span(figures, UNITS.get(content["unit"], content["unit"]))


def _bounds(record: dict[str, Any], name: str) -> tuple[Decimal, Decimal, str | None] | None:
    low, high, unit = (record[f"{name}{end}"] for end in ("RangeLow", "RangeHigh", "Unit"))
    return None if low is None else _span([low, high], UNITS[unit])


def _span(figures: list[Any], unit: str | None) -> tuple[Decimal, Decimal, str | None] | None:
    """Return the bounds of a strength; more than the whole is impossible."""
    possible = [figure for figure in map(Decimal, figures) if unit != "PERCENTAGE" or figure <= 100]
    return (min(possible), max(possible), unit) if possible else None


def _compound(member: dict[str, Any], name: str) -> tuple[str | None, Decimal, str]:
    return _text(name), Decimal(member["value"]), UNITS.get(member["unit"], member["unit"])


def _sale(stated: dict[str, Any]) -> tuple[Any, ...]:
    unit = "percent" if stated["percentDiscount"] else "dollars" if stated["dollarDiscount"] else None
    return (
        stated["specialId"],
        _text(stated["specialName"]),
        stated["specialType"],
        stated["menuType"],
        "target_price" if stated["targetPrice"] else unit,
        Decimal(stated["discount"]),
    )


def _deal(stated: dict[str, Any], kind: str) -> tuple[Any, ...]:
    amount = Decimal(stated["discountAmount"])
    return stated["specialId"], _text(stated["specialName"]), kind, None, DISCOUNTS[stated["discountType"]], amount


def _text(stated: str | None) -> str | None:
    return re.sub(r"\s+", " ", html.unescape(stated)).strip() if stated else None


def _label(stated: str | None, joint: str) -> str | None:
    return re.sub(r"[^a-z0-9]+", joint, stated.lower()).strip(joint) if stated else None


def _subcategory(stated: str | None) -> str | None:
    label = _label(stated, "-")
    return None if label == "default" else label


def _category(stated: str) -> str:
    letters = re.sub(r"[^a-z]", "", stated.lower())
    return next((name for start, name in CATEGORIES.items() if letters.startswith(start)), "other")


def _strain(stated: str) -> str | None:
    return None if stated in {"N/A", "NOT_APPLICABLE"} else _label(stated, "_")


def _moment(stated: str) -> datetime:
    if stated.isdigit():
        seconds, milliseconds = divmod(int(stated), 1000)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)
    return datetime.fromisoformat(stated)
