"""Normalize the spelling of categories, subcategories and strain types."""

from __future__ import annotations

import re

from storecrawl.catalog.normalize.menu import Category
from storecrawl.catalog.normalize.records import clean_text

LABEL_LIMIT = 100

_CATEGORIES = {
    "flower": Category.FLOWER,
    "flowers": Category.FLOWER,
    "preroll": Category.PRE_ROLLS,
    "prerolls": Category.PRE_ROLLS,
    "infusedpreroll": Category.PRE_ROLLS,
    "infusedprerolls": Category.PRE_ROLLS,
    "vape": Category.VAPORIZERS,
    "vapes": Category.VAPORIZERS,
    "vaporizer": Category.VAPORIZERS,
    "vaporizers": Category.VAPORIZERS,
    "vapepen": Category.VAPORIZERS,
    "vapepens": Category.VAPORIZERS,
    "cartridge": Category.VAPORIZERS,
    "cartridges": Category.VAPORIZERS,
    "concentrate": Category.CONCENTRATES,
    "concentrates": Category.CONCENTRATES,
    "extract": Category.CONCENTRATES,
    "extracts": Category.CONCENTRATES,
    "edible": Category.EDIBLES,
    "edibles": Category.EDIBLES,
    "beverages": Category.EDIBLES,
    "capsules": Category.EDIBLES,
    "drinks": Category.EDIBLES,
    "oral": Category.ORAL,
    "orals": Category.ORAL,
    "tincture": Category.TINCTURES,
    "tinctures": Category.TINCTURES,
    "topical": Category.TOPICALS,
    "topicals": Category.TOPICALS,
    "cbd": Category.CBD,
    "accessory": Category.ACCESSORIES,
    "accessories": Category.ACCESSORIES,
    "gear": Category.ACCESSORIES,
    "apparel": Category.APPAREL,
    "merchandise": Category.APPAREL,
}
DOSED = frozenset({Category.EDIBLES, Category.ORAL, Category.TINCTURES, Category.TOPICALS})
"""Categories sold by active substance, not by weight."""
_STRAINS = {"hybrid_sativa": "sativa_hybrid", "hybrid_indica": "indica_hybrid", "cbd": "high_cbd"}
_NO_STRAIN = {"n_a", "na", "not_applicable", "none", "unknown"}
_NO_SUBCATEGORY = {"default", "n-a", "none"}
_NOT_A_LETTER = re.compile(r"[^a-z]+")
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")


def category_of(spelling: object) -> Category | None:
    """Return the category of a spelling ("Pre-Rolls", "PRE_ROLLS"); OTHER if unknown, None if absent."""
    text = clean_text(spelling, LABEL_LIMIT)
    if text is None:
        return None
    return _CATEGORIES.get(_NOT_A_LETTER.sub("", text.lower()), Category.OTHER)


def subcategory_of(spelling: object) -> str | None:
    """Return a subcategory in lower kebab case; None if absent or the source's "DEFAULT"."""
    label = label_of(spelling, "-")
    return None if label in _NO_SUBCATEGORY else label


def strain_of(spelling: object) -> str | None:
    """Return a strain type in lower snake case ("indica_hybrid", "one_to_one"); None for "N/A" and the like."""
    label = label_of(spelling)
    return None if label is None or label in _NO_STRAIN else _STRAINS.get(label, label)


def label_of(spelling: object, joint: str = "_") -> str | None:
    """Return a spelling in lower case with one joint between its words."""
    text = clean_text(spelling, LABEL_LIMIT)
    return (_NOT_ALPHANUMERIC.sub(joint, text.lower()).strip(joint) or None) if text else None
