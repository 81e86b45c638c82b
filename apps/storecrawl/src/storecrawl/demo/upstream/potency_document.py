"""The JSON of strengths: THC, CBD, cannabinoids and terpenes, with the odd values of real menus."""

from __future__ import annotations

from typing import Any

from storecrawl.demo.upstream import words
from storecrawl.demo.upstream.categories import Potency
from storecrawl.demo.upstream.draws import Draw
from storecrawl.demo.upstream.products import WorldProduct
from storecrawl.demo.upstream.stores import slugify

SHARE_LEGACY_ONLY = 0.02
SHARE_UNSTATED = 0.07
SHARE_TWO_VALUES = 0.03
SHARE_PER_GRAM_AS_PERCENT = 0.03
SHARE_EDIBLES_IN_PERCENT = 0.25

Document = dict[str, Any]


def potency_document(product: WorldProduct, draw: Draw) -> Document:
    """Return the strengths of a product."""
    if product.category.potency is Potency.NONE:
        return _no_potency()
    is_legacy = draw.chance(SHARE_LEGACY_ONLY)
    thc = None if is_legacy else _content(*_thc(product, draw))
    return {
        "THC": draw.pick((str(product.thc), product.thc)) if is_legacy else None,
        "CBD": "0" if is_legacy else None,
        "THCContent": thc,
        "CBDContent": _content("PERCENTAGE", [round(draw.real(0.02, 1.2), 3)] if draw.chance(0.05) else None),
        "cannabinoidsV2": _cannabinoids(product, draw),
        "terpenes": _terpenes(draw) if draw.chance(0.15) else [],
        "totalTerpenes": round(draw.real(0.8, 4.0), 2) if draw.chance(0.1) else None,
        "effects": _effects(draw) if draw.chance(0.75) else {},
    }


def _no_potency() -> Document:
    return {
        "THC": None,
        "CBD": None,
        "THCContent": _content("PERCENTAGE", None),
        "CBDContent": _content("PERCENTAGE", None),
        "cannabinoidsV2": [],
        "terpenes": [],
        "totalTerpenes": None,
        "effects": {},
    }


def _content(unit: str, values: list[float] | None) -> Document:
    return {"unit": unit, "range": values, "__typename": "ProductPotency"}


def _thc(product: WorldProduct, draw: Draw) -> tuple[str, list[float] | None]:
    if draw.chance(SHARE_UNSTATED):
        return "PERCENTAGE", None
    if product.category.potency is Potency.MILLIGRAMS:
        return _edible_thc(product, draw)
    if draw.chance(SHARE_PER_GRAM_AS_PERCENT):
        return "PERCENTAGE", [round(product.thc * 10, 2)]
    if draw.chance(SHARE_TWO_VALUES):
        return "PERCENTAGE", [product.thc, round(product.thc + draw.real(0.5, 4.0), 3)]
    return "PERCENTAGE", [0.0 if draw.chance(0.01) else product.thc]


def _edible_thc(product: WorldProduct, draw: Draw) -> tuple[str, list[float] | None]:
    if draw.chance(SHARE_EDIBLES_IN_PERCENT):
        return "PERCENTAGE", [round(draw.real(0.05, 1.1), 2)]
    return "MILLIGRAMS", [int(product.thc)]


def _cannabinoids(product: WorldProduct, draw: Draw) -> list[Document]:
    unit = draw.pick(("PERCENTAGE", "PERCENTAGE", "MILLIGRAMS_PER_GRAM", "MILLIGRAMS"))
    scale = 1.0 if unit == "PERCENTAGE" else 10.0
    return [
        {
            "value": round(min(product.thc, 95.0) * scale * draw.share(), 3),
            "unit": unit,
            "cannabinoid": {"name": name, "__typename": "Cannabinoid"},
            "__typename": "Products_CannabinoidV2",
        }
        for name in words.CANNABINOIDS[: draw.integer(0, 3)]
    ]


def _terpenes(draw: Draw) -> list[Document]:
    first = draw.integer(0, len(words.TERPENES) - 2)
    return [
        {
            "id": slugify(name).lower(),
            "name": name,
            "value": round(draw.real(0.1, 2.0), 2),
            "unit": "PERCENTAGE",
            "__typename": "Terpene",
        }
        for name in words.TERPENES[first : first + 2]
    ]


def _effects(draw: Draw) -> Document:
    first = draw.integer(0, len(words.EFFECTS) - 4)
    return {name: draw.integer(4, 10) for name in words.EFFECTS[first : first + 4]}
