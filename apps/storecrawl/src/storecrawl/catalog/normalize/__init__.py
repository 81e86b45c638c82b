"""The normalizer turns any known form of menu document into an exact `Menu`, without files or a database.

`recognise` (shapes) finds the product records and duplicates are merged by key (records). One reader
per form (graphql, plus, joint) turns a record into a draft, and `product_of` (drafts) turns a draft
into a product. The rules for text, prices, potency, weight, stock, categories, times and details have
their own modules. An unusable product becomes a Refusal; a document that is not a menu raises NotAMenu.
"""

from __future__ import annotations

from storecrawl.catalog.normalize.documents import parse_document
from storecrawl.catalog.normalize.errors import NotAMenu
from storecrawl.catalog.normalize.known import KnownValues, known_values, shares_of
from storecrawl.catalog.normalize.menu import (
    NO_DETAILS,
    Availability,
    Category,
    Compound,
    Details,
    Effect,
    Measure,
    Menu,
    Potency,
    PotencyUnit,
    Product,
    Refusal,
    Shape,
    Special,
    Variant,
    Weight,
)
from storecrawl.catalog.normalize.normalizer import normalize

__all__ = [
    "NO_DETAILS",
    "Availability",
    "Category",
    "Compound",
    "Details",
    "Effect",
    "KnownValues",
    "Measure",
    "Menu",
    "NotAMenu",
    "Potency",
    "PotencyUnit",
    "Product",
    "Refusal",
    "Shape",
    "Special",
    "Variant",
    "Weight",
    "known_values",
    "normalize",
    "parse_document",
    "shares_of",
]
