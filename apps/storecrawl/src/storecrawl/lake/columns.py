"""The columns of exported rows and of the lake's files, in the order of the statements in `sql/rows.sql`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Kind = Literal["text", "integer", "bigint", "decimal", "boolean", "date", "time"]
Columns = Mapping[str, Kind]

PARTITION: Final = ("platform", "state", "day")
"""The columns that are part of a file's path."""

_STORE: Final[Columns] = {
    "platform": "text",
    "state": "text",
    "store_id": "bigint",
    "store_name": "text",
    "chain": "text",
    "city": "text",
}
_PRODUCT: Final[Columns] = {
    "product_id": "bigint",
    "external_id": "text",
    "name": "text",
    "brand": "text",
    "brand_slug": "text",
    "category": "text",
    "subcategory": "text",
    "strain_type": "text",
    "thc_lo": "decimal",
    "thc_hi": "decimal",
    "thc_unit": "text",
    "cbd_lo": "decimal",
    "cbd_hi": "decimal",
    "cbd_unit": "text",
}

PRICES: Final[Columns] = {
    "day": "date",
    **_STORE,
    **_PRODUCT,
    "option": "text",
    "weight_value": "decimal",
    "weight_unit": "text",
    "price_rec_cents": "integer",
    "special_rec_cents": "integer",
    "price_med_cents": "integer",
    "special_med_cents": "integer",
    "first_rec_cents": "integer",
    "lowest_rec_cents": "integer",
    "highest_rec_cents": "integer",
    "first_med_cents": "integer",
    "lowest_med_cents": "integer",
    "highest_med_cents": "integer",
    "price_changes": "integer",
    "quantity": "integer",
    "quantity_capped": "boolean",
    "in_stock": "boolean",
    "availability": "text",
    "observations": "integer",
    "first_observed_at": "time",
    "last_observed_at": "time",
}

PRODUCTS: Final[Columns] = {
    **_STORE,
    **_PRODUCT,
    "availability": "text",
    "in_stock": "boolean",
    "options": "integer",
    "lowest_rec_cents": "integer",
    "lowest_med_cents": "integer",
    "image_url": "text",
    "first_seen_at": "time",
    "changed_at": "time",
}
