"""The values that stored rows should have according to a menu. It shares no code with the writing of rows."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec

from storecrawl.catalog.normalize import Menu, Potency, Product, Variant
from storecrawl.catalog.stored_rows import Rows, Values

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def expected_product(product: Product) -> Values:
    """Return the values of a product on the menu, with its details."""
    details = product.details
    return {
        **_summary(product),
        "slug": product.slug,
        "name_raw": product.name_raw,
        "brand_raw": product.brand_raw,
        "brand_external_id": product.brand_external_id,
        "category_raw": product.category_raw,
        "subcategory_raw": product.subcategory_raw,
        "strain_type_raw": product.strain_type_raw,
        "description": product.description,
        "image_url": product.image_url,
        "rec_only": product.rec_only,
        "medical_only": product.medical_only,
        "listed_at": product.created_at,
        "revised_at": product.updated_at,
        "effects": _plain(details.effects),
        "cannabinoids": _plain(details.cannabinoids),
        "terpenes": _plain(details.terpenes),
        "specials": _plain(details.specials),
        "tags": list(details.tags),
        "net_weight": _plain(details.net_weight),
        "volume": _plain(details.volume),
    }


def expected_options(product: Product) -> Rows:
    """Return the values of a product's options on the menu, by external id and option."""
    return {
        (product.external_id, variant.option): {
            **_offer(variant),
            "option_raw": variant.option_raw,
            "position": position,
            "weight_value": variant.weight and variant.weight.value,
            "weight_unit": variant.weight and variant.weight.unit,
            "dose_mg": variant.dose_mg,
            "pack_count": variant.pack_count,
            "listed": True,
            "sku": variant.sku,
            "canonical_id": variant.canonical_id,
            "canonical_name": variant.canonical_name,
        }
        for position, variant in enumerate(product.variants)
    }


def expected_history(menu: Menu) -> tuple[Rows, Rows]:
    """Return the values of a menu's products and options in the history."""
    products: Rows = {(product.external_id,): _summary(product) for product in menu.products}
    options: Rows = {
        (product.external_id, variant.option): _offer(variant)
        for product in menu.products
        for variant in product.variants
    }
    return products, options


def _summary(product: Product) -> dict[str, object]:
    return {
        "name": product.name,
        "brand": product.brand,
        "category": product.category,
        "subcategory": product.subcategory,
        "strain_type": product.strain_type,
        **_bounds("thc", product.thc),
        **_bounds("cbd", product.cbd),
        "availability": product.availability,
        "in_stock": product.in_stock,
    }


def _offer(variant: Variant) -> dict[str, object]:
    names = ("price_rec_cents", "price_med_cents", "special_rec_cents", "special_med_cents")
    stock = ("quantity", "quantity_capped", "in_stock")
    return {name: getattr(variant, name) for name in (*names, *stock)}


def _bounds(name: str, potency: Potency | None) -> dict[str, object]:
    if potency is None:
        return dict.fromkeys((f"{name}_lo", f"{name}_hi", f"{name}_unit"))
    return {f"{name}_lo": potency.lo, f"{name}_hi": potency.hi, f"{name}_unit": potency.unit}


def _plain(value: object) -> Any:
    """Return the JSON values of a detail, with exact numbers."""
    return json.loads(_ENCODER.encode(value), parse_float=Decimal)
