"""Two documents of one product made one: pages overlap, and both modes show most products."""

from __future__ import annotations

from typing import Any

Product = Any
"""A member of a list of products: an object, if all is well."""

PRICE_FIELDS = ("Prices", "recPrices", "medicalPrices")
PARALLEL_FIELDS = frozenset(
    {
        *PRICE_FIELDS,
        "Options",
        "recSpecialPrices",
        "medicalSpecialPrices",
        "wholesalePrices",
        "manualInventory",
        "optionsBelowThreshold",
        "optionsBelowKioskThreshold",
    }
)
"""Lists that stand beside Options: of two documents of a product, all of them come from the same one."""


def merge_documents(first: Product, second: Product) -> Product:
    """Merge two documents of one product: the one with more priced options, else the first, completed by the other."""
    if first == second or not (isinstance(first, dict) and isinstance(second, dict)):
        return first
    richer, other = (second, first) if _priced_options(second) > _priced_options(first) else (first, second)
    missing = {
        name: value
        for name, value in other.items()
        if name not in PARALLEL_FIELDS and richer.get(name) is None and value is not None
    }
    return richer | missing


def _priced_options(product: Product) -> int:
    options = product.get("Options")
    prices = next((product[name] for name in PRICE_FIELDS if product.get(name)), None)
    if not isinstance(options, list) or not isinstance(prices, list):
        return 0
    return min(len(options), len(prices))
