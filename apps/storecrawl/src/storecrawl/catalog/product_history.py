"""The history of a product: its availability, and the prices and stock of its options, fetch by fetch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from psycopg.rows import class_row

from storecrawl.catalog.sql import PRODUCT_HISTORY
from storecrawl.statements import Connection, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedOption:
    """An option in one payload, prices in cents. With `quantity_capped`, the quantity is a minimum."""

    option: str
    price_rec_cents: int | None
    price_med_cents: int | None
    special_rec_cents: int | None
    special_med_cents: int | None
    quantity: int | None
    quantity_capped: bool
    in_stock: bool

    @property
    def cents(self) -> int | None:
        """The price that a customer paid, including specials: the recreational one if there is one."""
        for prices in (
            (self.price_rec_cents, self.special_rec_cents),
            (self.price_med_cents, self.special_med_cents),
        ):
            known = [cents for cents in prices if cents is not None]
            if known:
                return min(known)
        return None

    @property
    def on_special(self) -> bool:
        return self.special_rec_cents is not None or self.special_med_cents is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedProduct:
    """A product in one payload: the fetch with the number `sequence` of its store."""

    payload_id: int
    sequence: int
    captured_at: datetime
    availability: str
    in_stock: bool
    options: list[CapturedOption]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFilter:
    """The part of a history between two times, and before the `sequence` of the last item of the previous page."""

    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    payload_id: int
    sequence: int
    captured_at: datetime
    availability: str
    product_in_stock: bool
    option: str | None
    price_rec_cents: int | None
    price_med_cents: int | None
    special_rec_cents: int | None
    special_med_cents: int | None
    quantity: int | None
    quantity_capped: bool | None
    in_stock: bool | None


async def captured_history(connection: Connection, product_id: int, criteria: HistoryFilter) -> list[CapturedProduct]:
    """Return a product as it was in its payloads, the newest first; nothing for an unknown one."""
    parameters = {
        "product_id": product_id,
        "since": criteria.since,
        "until": criteria.until,
        "before": criteria.before,
        "limit": criteria.limit,
    }
    rows = await fetch(connection, PRODUCT_HISTORY.captured_options, parameters, class_row(_Row))
    return [_product(list(group)) for _, group in groupby(rows, key=lambda row: row.payload_id)]


def _product(rows: list[_Row]) -> CapturedProduct:
    first = rows[0]
    return CapturedProduct(
        payload_id=first.payload_id,
        sequence=first.sequence,
        captured_at=first.captured_at,
        availability=first.availability,
        in_stock=first.product_in_stock,
        options=list(_options(rows)),
    )


def _options(rows: Iterable[_Row]) -> Iterable[CapturedOption]:
    for row in rows:
        if row.option is not None:
            yield CapturedOption(
                option=row.option,
                price_rec_cents=row.price_rec_cents,
                price_med_cents=row.price_med_cents,
                special_rec_cents=row.special_rec_cents,
                special_med_cents=row.special_med_cents,
                quantity=row.quantity,
                quantity_capped=bool(row.quantity_capped),
                in_stock=bool(row.in_stock),
            )
