"""The JSON of a point-of-sale system's data about a product: POSMetaData and its children."""

from __future__ import annotations

from typing import Any

from storecrawl.demo.upstream.draws import Draw, WeightedValues
from storecrawl.demo.upstream.products import WorldProduct
from storecrawl.demo.upstream.shelf_life import Offer
from storecrawl.demo.upstream.stores import StockSource, WorldStore

SHARE_OF_POS_PRODUCTS = 0.92

Document = dict[str, Any]

_ORDERS = WeightedValues({"same": 0.8, "reversed": 0.08, "fewer": 0.06, "none": 0.06})
"""Children may be in another order than the options, and some or all may be missing."""


def pos_document(store: WorldStore, product: WorldProduct, offer: Offer, draw: Draw) -> Document | None:
    """Return the point-of-sale data of a product, or None if the store has no such system."""
    if store.habits.stock_source is not StockSource.POS or not draw.chance(SHARE_OF_POS_PRODUCTS):
        return None
    brand = product.brand
    sku = f"{draw.integer(100_000, 999_999)}"
    return {
        "canonicalID": sku,
        "canonicalSKU": f"SKU-{sku}",
        "canonicalName": product.name.upper(),
        "canonicalBrandName": None if brand is None else brand.name.strip(),
        "canonicalBrandId": None if brand is None else str(brand.number),
        "canonicalCategory": product.category.singular,
        "canonicalImgUrl": None,
        "canonicalPackageId": None,
        "children": _reorder(_children(product, offer, sku), draw.pick_weighted(_ORDERS)),
        "__typename": "POSMetaData",
    }


def _reorder(children: list[Document], order: str) -> list[Document]:
    match order:
        case "reversed":
            return children[::-1]
        case "fewer":
            return children[: len(children) // 2]
        case "none":
            return []
        case _:
            return children


def _children(product: WorldProduct, offer: Offer, sku: str) -> list[Document]:
    stock = offer.stock or (0,) * len(offer.options)
    rows = zip(offer.options, offer.prices, stock, strict=True)
    return [_child(product, f"{sku}-{number}", row) for number, row in enumerate(rows)]


def _child(product: WorldProduct, sku: str, row: tuple[str, int, int]) -> Document:
    option, cents, left = row
    price = cents / 100
    return {
        "option": option,
        "price": price,
        "medPrice": price,
        "recPrice": price,
        "quantity": left,
        "quantityAvailable": left,
        "kioskQuantityAvailable": left,
        "canonicalID": sku,
        "canonicalSKU": f"SKU-{sku}",
        "canonicalName": product.name,
        "canonicalBrandName": None,
        "canonicalCategory": product.category.singular,
        "canonicalEffectivePotencyMg": None,
        "standardEquivalent": {"value": 1.0, "unit": "g", "__typename": "Equivalent"},
        "recEquivalent": None,
        "__typename": "POSMetaData_Child",
    }
