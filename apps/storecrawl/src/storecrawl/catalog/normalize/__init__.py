"""The normalizer: any known form of menu document in, one exact `Menu` out, no file or database touched.

`recognise` (shapes) finds the product records, duplicates are merged by key (records), a reader per form
(graphql, plus, joint) turns a record into a draft, and `product_of` (drafts) turns a draft into a product
with the rules of one concern a module: text, prices, potency, weight, stock, categories, times, details.
A product that cannot be used is kept as a Refusal; a document that is no menu raises NotAMenu.
"""

from __future__ import annotations

from storecrawl.catalog.normalize.documents import parse_document
from storecrawl.catalog.normalize.errors import NotAMenu
from storecrawl.catalog.normalize.fingerprint import fingerprint
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
    "fingerprint",
    "normalize",
    "parse_document",
]
