"""Menus in each known form, generated from a store of the local upstream.

Members, types, nulls and oddities are those of real menus. Names, ids, prices and texts are invented.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any

from storecrawl.demo.upstream.clock import iso_text
from storecrawl.demo.upstream.directory import StoreDirectory
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.menus import LARGEST_PAGE, MenuCache
from storecrawl.demo.upstream.options import UpstreamOptions
from storecrawl.demo.upstream.stores import WorldStore

STEP = 2
STORE, EDIBLES_STORE = 4, 57
"""Stores whose first page has every oddity that the tests look for, of all products and of edibles."""
PLUS_PAGE = 20
QUANTITY_CAP = 25
TEXTS = {"description": "Tested twice – once by us™…", "descriptionHtml": "<p>Oats &amp; nuts.&nbsp;</p>"}
OUNCES = {"1g": 10.8, "1/8oz": 31.05, "1/4oz": 59.4, "1/2oz": 112.25, "1oz": 219.95}

Record = dict[str, Any]


def graphql() -> bytes:
    """Return the first page of a menu as the platform sends it today."""
    page = {"totalCount": len(products()), "totalPages": -(-len(products()) // LARGEST_PAGE)}
    return _json({"data": {"filteredProducts": {"products": products()[:LARGEST_PAGE], "queryInfo": page}}})


def plus() -> bytes:
    """Return the first page of the edibles, wrapped by the plugin of a web site."""
    edibles = [
        product for product in sorted(products(EDIBLES_STORE), key=itemgetter("Name")) if product["type"] == "Edibles"
    ]
    listed = [_plus(product) for product in edibles[:PLUS_PAGE]]
    counts = {"products_count": len(edibles), "products_list_count": len(listed), "current_page": 1}
    return _json({"success": True, "data": {"products_list": listed, "filter": "{categories:[]}", **counts}})


def joint() -> bytes:
    """Return a whole menu with a record per option, everything on special, and amounts as texts."""
    return _json([_joint(product, place) for product in products() for place in range(len(product["Options"]))])


def legacy() -> bytes:
    """Return three products of 2019: bare strengths, an option named like its product, and a price per option."""
    taffy, gummies = [product for product in products() if product["type"] == "Edibles"][:2]
    flower = next(product for product in products() if product["type"] == "Flower")
    stock = [{"option": "0.1g", "productID": 1, "quantity": 28}]
    records = [
        _legacy(taffy, {"0.1g": 20}, "100", brandName="Loam", quantities=stock),
        _legacy(gummies, {gummies["Name"]: 18.5}, 20, effects={"Calm": 9, "Pain-Relief": 5}),
        _legacy(flower, OUNCES, 29),
    ]
    return _json({"products": records})


def foreign() -> bytes:
    """Return products of another platform."""
    return _json([_foreign(number, product) for number, product in enumerate(products()[:40])])


def rows() -> bytes:
    """Return a menu that somebody wrote as CSV."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["Name", "Brand", "Type", "Price"])
    writer.writerows([each["Name"], each["brandName"], each["type"], each["Prices"][0]] for each in products())
    return text.getvalue().encode()


def lines() -> bytes:
    """Return products read from a page, one JSON document per line."""
    seen = [{"product_name": each["Name"], "price": f"${each['Prices'][0]}"} for each in products()[:8]]
    return "\n".join(map(json.dumps, seen)).encode()


def stores() -> bytes:
    """Return a list of stores instead of products."""
    return _json([{"cName": store.slug, "name": store.name, "city_page": store.city.name} for store in _stores()])


MENUS: dict[str, Callable[[], bytes]] = {
    "graphql.json": graphql,
    "plus.json": plus,
    "joint.json": joint,
    "legacy.json": legacy,
}
OTHERS: dict[str, Callable[[], bytes]] = {
    "foreign.json": foreign,
    "flat.csv": rows,
    "flat.jsonl": lines,
    "stores.json": stores,
}
"""Documents of other kinds, which the normalizer rejects."""


@cache
def products(store: int = STORE) -> list[Record]:
    """Return the products of a store's whole menu, in today's form."""
    return [json.loads(entry.full) for entry in MenuCache(_options()).menu(_stores()[store], STEP)]


def _stores() -> list[WorldStore]:
    return StoreDirectory(_options()).open_until(0)


def _options() -> UpstreamOptions:
    return UpstreamOptions(stores=60, seed=1)


def _json(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _plus(product: Record) -> Record:
    draw, key, brand = Draw("plus", product["_id"]), product["_id"], product["brand"] or {}
    sku = str(draw.integer(10**7, 10**8))
    return {
        "id": key,
        "name": product["Name"],
        **TEXTS,
        **_class(product),
        "subcategory": _capitals(product["subcategory"] or "default"),
        "image": product["Image"],
        "images": [{"id": None, "url": product["Image"], "label": "", "description": None}],
        "enterpriseProductId": product["enterpriseProductId"],
        "tags": [],
        "menuTypes": ["MEDICAL", "RECREATIONAL"],
        "slug": product["cName"],
        "staffPick": draw.chance(0.1),
        "posId": sku[:7],
        "variants": [_plus_variant(product, place) for place in range(len(product["Options"]))],
        "brand": {name: brand.get(name) for name in ("id", "name", "description", "imageUrl")},
        "potencyThc": _plus_strength(product["THCContent"]),
        "potencyCbd": _plus_strength(product["CBDContent"]),
        "posMetaData": {"id": sku[:7], "category": "Gummies", "sku": sku, "labResultUrl": None},
        "terpenes": [],
        "cannabinoids": [
            {**{name: each[name] for name in ("unit", "value")}, "cannabinoid": {"name": each["cannabinoid"]["name"]}}
            for each in product["cannabinoidsV2"]
        ],
    }


def _plus_variant(product: Record, place: int) -> Record:
    option, price = product["Options"][place], product["Prices"][place]
    return {
        "id": f"{product['_id']}~{option}",
        "option": option,
        "priceMed": price,
        "priceRec": price,
        "specialPriceMed": None,
        "specialPriceRec": next(iter(product["recSpecialPrices"][place:]), None),
        "quantity": _quantity(product, place),
        "flowerEquivalent": {"unit": "g", "value": 2.8},
        "specialConditionIds": [],
        "specialRewardIds": [],
    }


def _plus_strength(content: Record | None) -> Record:
    figures = (content or {}).get("range") or []
    unit = _unit(content)
    return {"formatted": f"{figures[0]}{unit}" if figures else "", "range": figures, "unit": unit}


def _joint(product: Record, place: int) -> Record:
    draw = Draw("joint", product["_id"], place)
    key, brand = draw.uuid(), product["brandName"]
    # Amounts with a special price of 40 % are numbers, the others texts: real menus mix both.
    percent = draw.pick((35, 35, 40))
    reduced = round(product["Prices"][place] * (100 - percent) / 100, 2)
    special = f"{reduced:.2f}" if percent == 35 else reduced
    name, sale = f"Harvest Sale [{percent}% OFF Storewide] ", Draw("sale", percent).uuid()
    variant = {
        "jointId": draw.uuid(),
        "productId": key,
        "option": product["Options"][place],
        "menuType": "RECREATIONAL",
        "price": f"{product['Prices'][place]:.2f}",
        "specialPrice": special,
        "quantity": str(_quantity(product, place)),
        "minQuantity": "0",
        "appliedSpecials": [_deal(sale, name, "DOLLAR_AMOUNT")],
        "createdAt": iso_text(0),
        "updatedAt": iso_text(STEP + place),
    }
    return {
        "jointId": key,
        "posId": draw.object_id(),
        "name": product["Name"],
        "nameText": product["Name"],
        **TEXTS,
        **_class(product),
        **_joint_strength("potencyThc", product["THCContent"]),
        **_joint_strength("potencyCbd", product["CBDContent"]),
        "subCategory": _capitals(product["subcategory"] or "default"),
        "menuType": ["RECREATIONAL"],
        "primaryImage": product["Image"],
        "images": [product["Image"]],
        "staffPick": draw.chance(0.1),
        "tagList": draw.pick(([], ["New arrival"])),
        "urlFragment": product["cName"],
        "brandId": product["brandId"],
        "brandName": brand,
        "brandNameText": brand,
        "lowestPrice": special,
        "variants": [variant],
        "cannabinoids": [_joint_compound(each, each["cannabinoid"]["name"]) for each in product["cannabinoidsV2"]],
        "terpenes": [_joint_compound(each, each["name"]) for each in product["terpenes"]],
        "applicableSpecials": [
            _deal(sale, name, "DOLLAR_AMOUNT"),
            _deal(Draw("pair").uuid(), "Two for one", "TARGET_PRICE"),
        ],
    }


def _joint_strength(name: str, content: Record | None) -> Record:
    figures, unit = (content or {}).get("range"), _unit(content)
    values = (f"{figures[0]}{unit}", str(figures[0]), str(figures[-1]), unit) if figures else (None,) * 4
    ends = ("DisplayValue", "RangeLow", "RangeHigh", "Unit")
    return {f"{name}{end}": value for end, value in zip(ends, values, strict=True)}


def _joint_compound(each: Record, name: str) -> Record:
    return {"name": name, "unit": _unit(each), "value": each["value"], "description": "Made up."}


def _deal(key: str, name: str, kind: str) -> Record:
    return {
        "specialId": key,
        "specialName": name,
        "discountType": kind,
        "discountAmount": "0",
        "specialDescription": "",
    }


def _legacy(product: Record, prices: dict[str, float], thc: object, **changes: object) -> Record:
    kept = ("id", "DispensaryID", "Name", "Status", "Image", "strainType", "effects", "cName", "weight", "updatedAt")
    return {
        **{name: product[name] for name in kept},
        "type": product["type"].removesuffix("s"),
        "Description": TEXTS["description"],
        "descriptionHtml": TEXTS["descriptionHtml"],
        "THCContent": thc,
        "CBDContent": "0",
        "Options": list(prices),
        "Prices": list(prices.values()),
        "createdAt": iso_text(0),
        "integration": False,
        **changes,
    }


def _foreign(number: int, product: Record) -> Record:
    variant = {"id": number, "price": product["Prices"][0], "promoPrice": None, "availableQty": 40 + number}
    return {
        "id": number,
        "name": product["Name"],
        "category": {"id": 7, "name": product["type"]},
        "brand": {"name": product["brandName"]},
        "variants": [{**variant, "unitSize": {"value": 1.0, "unitAbbr": "EA"}}],
    }


def _class(product: Record) -> Record:
    strain = str(product["strainType"]).replace("N/A", "NOT_APPLICABLE").replace("High CBD", "ONE_TO_ONE")
    return {
        "category": _capitals(product["type"]),
        "strainType": _capitals(strain),
        "effects": [name.upper() for name in product["effects"]],
    }


def _quantity(product: Record, place: int) -> int:
    stock: list[int] = [
        each["inventory"] for each in product["manualInventory"] if each["option"] == product["Options"][place]
    ]
    return min(QUANTITY_CAP, sum(stock))


def _unit(content: Record | None) -> str:
    units = {"PERCENTAGE": "%", "MILLIGRAMS": "mg", "MILLIGRAMS_PER_GRAM": "mg/g"}
    return units[content["unit"]] if content else "%"


def _capitals(text: str) -> str:
    return text.upper().replace("-", "_").replace(" ", "_")
