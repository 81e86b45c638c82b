"""The stored rows of a store as plain values, and the differences between two sets of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final

from psycopg.rows import dict_row, scalar_row

from storecrawl.catalog.sql import STORED_ROWS
from storecrawl.statements import Connection, fetch

SAMPLE = 20
PRODUCTS: Final = "products"
OPTIONS: Final = "options"
HISTORY: Final = "history"
OPTION_HISTORY: Final = "option history"
PAYLOADS: Final = "payloads"
# The name of a difference between a row and none.
WHOLE_ROW: Final = "row"
_JSON: Final = ("effects", "cannabinoids", "terpenes", "specials", "net_weight", "volume")

Values = Mapping[str, object]
Key = tuple[str, ...]
Rows = dict[Key, Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A value that differs: of a product, an option or a payload, or of the history at a payload.

    `field` is "row" if one side has no such row. Values are texts, None for null.
    """

    table: str
    store_id: int
    payload_id: int | None
    product: str | None
    option: str | None
    field: str
    before: str | None
    after: str | None


@dataclass(slots=True, kw_only=True)
class Differences:
    """The number of compared values, of differences by table and field ("options.quantity"), and the first of these."""

    compared: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    sample: list[Difference] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.fields.values())

    def add(self, found: Differences) -> None:
        """Add the differences of another comparison. The sample keeps its size."""
        self.compared += found.compared
        self.fields = dict(sorted((Counter(self.fields) + Counter(found.fields)).items()))
        self.sample = [*self.sample, *found.sample][:SAMPLE]


async def stores_with_payloads(
    connection: Connection,
    *,
    store_id: int | None = None,
    platform: str | None = None,
    since: datetime | None = None,
) -> list[int]:
    """Return the stores with applied payloads: all, one, or those of a platform.

    Their payloads are of all times, or of fetches since a moment.
    """
    parameters = {"store_id": store_id, "platform": platform, "since": since}
    return await fetch(connection, STORED_ROWS.stores_with_payloads, parameters, scalar_row)


async def stored_products(connection: Connection, store_id: int) -> Rows:
    """Return the values of a store's products, by external id."""
    rows = await fetch(connection, STORED_ROWS.stored_products, {"store_id": store_id}, dict_row)
    for row in rows:
        row.update({name: row[name] and json.loads(row[name], parse_float=Decimal) for name in _JSON})
    return _by_key(rows, "external_id")


async def stored_options(connection: Connection, store_id: int) -> Rows:
    """Return the values of the options of a store's products, by external id and option."""
    rows = await fetch(connection, STORED_ROWS.stored_options, {"store_id": store_id}, dict_row)
    return _by_key(rows, "external_id", "option")


async def stored_history(connection: Connection, payload_id: int) -> tuple[Rows, Rows]:
    """Return the products and options of a payload in the history."""
    place = {"payload_id": payload_id}
    products = await fetch(connection, STORED_ROWS.stored_history, place, dict_row)
    options = await fetch(connection, STORED_ROWS.stored_option_history, place, dict_row)
    return _by_key(products, "external_id"), _by_key(options, "external_id", "option")


async def stored_payloads(connection: Connection, store_id: int) -> dict[int, Values]:
    """Return the figures of a store's applied payloads, by id."""
    rows = await fetch(connection, STORED_ROWS.stored_payloads, {"store_id": store_id}, dict_row)
    return {row.pop("id"): row for row in rows}


def compare(table: str, store_id: int, before: Rows, after: Rows, payload_id: int | None = None) -> Differences:
    """Compare the values of `after` with those of the same rows in `before`."""
    found, counts = Differences(), Counter[str]()
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        found.compared += len(new or ())
        product, option = (*key, None, None)[:2]
        for name in _differing(old, new):
            counts[f"{table}.{name}"] += 1
            if len(found.sample) < SAMPLE:
                difference = Difference(
                    table=table,
                    store_id=store_id,
                    payload_id=payload_id,
                    product=product,
                    option=option,
                    field=name,
                    before=_value_text(old, name),
                    after=_value_text(new, name),
                )
                found.sample.append(difference)
    found.fields = dict(counts)
    return found


def _by_key(rows: Iterable[dict[str, object]], *key: str) -> Rows:
    return {tuple(str(row.pop(name)) for name in key): row for row in rows}


def _differing(old: Values | None, new: Values | None) -> list[str]:
    if old is None or new is None:
        return [WHOLE_ROW]
    return [name for name, value in new.items() if old[name] != value]


def _value_text(row: Values | None, name: str) -> str | None:
    value = "present" if row is not None and name == WHOLE_ROW else (row or {}).get(name)
    return None if value is None else str(value)
