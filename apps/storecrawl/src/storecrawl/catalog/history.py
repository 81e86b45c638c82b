"""The histories of products, prices and stock: one row per record and span of fetches with equal values.

A record's history is a piecewise constant function of the number of its store's fetch. A payload sets the value on the
range from its own fetch up to the next applied one, so payloads may be applied in any order and again. Nothing here
commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import Template
from typing import Final

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.normalize import Menu
from storecrawl.catalog.refresh_rows import product_facts, variant_prices, variant_stock
from storecrawl.catalog.sql import HISTORY
from storecrawl.statements import Connection, execute, fetch, json_text

NEWEST: Final = "infinity"
EVER: Final = "-infinity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The fetches whose history a payload sets: from its own up to, not including, the next applied one.

    Both are numbers of the store's fetches; `next_sequence` is None if the payload is the newest. `is_first` is false
    if the payload was applied before.
    """

    store_id: int
    sequence: int
    fetched_at: datetime
    next_sequence: int | None
    next_at: datetime | None
    is_first: bool

    @property
    def is_appended(self) -> bool:
        """Whether the span begins after all that is known of the store."""
        return self.is_first and self.next_sequence is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    """A table, the columns that identify a record of a store, and its columns of values, with their types."""

    table: str
    keys: Mapping[str, str]
    values: Mapping[str, str]

    def statement(self) -> bytes:
        """Return the statement that sets the values of the records of some products on a span."""
        columns = {**self.keys, **self.values}
        words = {
            "history": f"storecrawl.{self.table}",
            "current": f"storecrawl.{self.table}_current",
            "definitions": ", ".join(f"{name} {kind}" for name, kind in columns.items()),
            "keys": ", ".join(self.keys),
            "values": ", ".join(self.values),
            "row": f"row({', '.join(self.values)})",
            **{f"{table}_row": f"row({_listed(table, self.values)})" for table in ("given", "known", "excluded")},
            **{f"keys_of_{table}": _listed(table, self.keys) for table in ("known", "old", "merged")},
            "assignments": ", ".join(f"{name} = excluded.{name}" for name in self.values),
        }
        return Template(HISTORY.set_history.decode()).substitute(words).encode()


def _listed(table: str, names: Iterable[str]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


_CENTS: Final = ("price_rec_cents", "price_med_cents", "special_rec_cents", "special_med_cents")
_OPTION_KEYS: Final = {"product_id": "bigint", "option": "text"}
_TEXTS: Final = ("name", "brand", "category", "subcategory", "strain_type")
_POTENCY: Final = {
    f"{name}_{part}": kind
    for name in ("thc", "cbd")
    for part, kind in (("lo", "numeric"), ("hi", "numeric"), ("unit", "text"))
}

SET_PRODUCTS: Final = _History(
    table="product_history",
    keys={"product_id": "bigint"},
    values={
        "availability": "storecrawl.availability",
        "in_stock": "boolean",
        **dict.fromkeys(_TEXTS, "text"),
        **_POTENCY,
    },
).statement()
SET_PRICES: Final = _History(
    table="price_history", keys=_OPTION_KEYS, values=dict.fromkeys(_CENTS, "integer")
).statement()
SET_STOCK: Final = _History(
    table="stock_history",
    keys=_OPTION_KEYS,
    values={"quantity": "integer", "quantity_capped": "boolean", "in_stock": "boolean"},
).statement()


@dataclass(frozen=True, slots=True, kw_only=True)
class _PriceChanges:
    product_id: int
    option: str
    changes: int
    changed_at: datetime | None


async def find_span(
    connection: Connection, store_id: int, sequence: int, fetched_at: datetime, *, applied: bool
) -> Span:
    """Return the span that a payload sets, after its store is locked. `applied`: it was applied before."""
    place = {"store_id": store_id, "sequence": sequence}
    found = await fetch(connection, HISTORY.next_payload, place, tuple_row)
    next_sequence, next_at = found[0] if found else (None, None)
    return Span(
        store_id=store_id,
        sequence=sequence,
        fetched_at=fetched_at,
        next_sequence=next_sequence,
        next_at=next_at,
        is_first=not applied,
    )


async def write_history(
    connection: Connection, span: Span, menu: Menu, ids: Mapping[str, int], products: Sequence[int]
) -> int:
    """Set the history of some products of a store, by id, on a span; return how many records changed.

    Products that the menu lacks have a gap there. `ids` has the id of each product of the menu by its external id.
    The price changes of options are corrected.
    """
    chosen = set(products)
    present = [(ids[product.external_id], product) for product in menu.products if ids[product.external_id] in chosen]
    options = [(product_id, option) for product_id, product in present for option in product.variants]
    parameters = {
        "products": list(products),
        "sequence": span.sequence,
        "next": span.next_sequence,
        "fetched_at": span.fetched_at,
        "next_at": span.next_at,
        "since": NEWEST if span.is_appended else EVER,
    }
    rows = {
        SET_PRODUCTS: [product_facts(product) | {"product_id": product_id} for product_id, product in present],
        SET_PRICES: [variant_prices(option, product_id) for product_id, option in options],
        SET_STOCK: [variant_stock(option, product_id) for product_id, option in options],
    }
    before = await _price_changes(connection, products)
    changed = {
        statement: int((await fetch(connection, statement, {**parameters, "rows": json_text(records)}, scalar_row))[0])
        for statement, records in rows.items()
    }
    if changed[SET_PRICES] and (before or not span.is_appended):
        await _recount(connection, before, await _price_changes(connection, products))
    return sum(changed.values())


async def _price_changes(connection: Connection, products: Sequence[int]) -> dict[tuple[int, str], _PriceChanges]:
    rows = await fetch(connection, HISTORY.price_changes, {"products": list(products)}, class_row(_PriceChanges))
    return {(row.product_id, row.option): row for row in rows}


async def _recount(
    connection: Connection,
    before: Mapping[tuple[int, str], _PriceChanges],
    after: Mapping[tuple[int, str], _PriceChanges],
) -> None:
    """Correct the price changes of options by the difference, since older ones may no longer be in the history."""
    different = [
        {
            "product_id": key[0],
            "option": key[1],
            "more": counted.changes - (before[key].changes if key in before else 0),
            "changed_at": counted.changed_at,
        }
        for key, counted in after.items()
        if counted != before.get(key)
    ]
    if different:
        await execute(connection, HISTORY.correct_price_changes, {"rows": json_text(different)})


async def keep_months(connection: Connection, months: int) -> int:
    """Create the next partitions of the histories; drop values that ended more than some months ago (0: none).

    Returns how many partitions were created or dropped.
    """
    [changed] = await fetch(connection, HISTORY.keep_months, {"months": months}, scalar_row)
    return int(changed)
