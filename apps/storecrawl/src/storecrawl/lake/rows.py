"""Read prices and products from the database as CSV without a header, in pieces.

COPY sends rows as they are found, and prices are read by batches of payloads, so that neither the server nor the
client holds more than a batch.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date

from psycopg import AsyncServerCursor
from psycopg.rows import class_row, scalar_row

from storecrawl.lake.sql import ROWS
from storecrawl.statements import Connection, fetch

PIECE_BYTES = 1024 * 1024
# A batch of a menu's usual size has a hundred payloads.
BATCH_PRODUCTS = 50_000
PAYLOADS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Restricts rows. `since` and `until` are UTC days, both included: of prices, or of a product's last change."""

    since: date | None = None
    until: date | None = None
    store: int | None = None
    platform: str | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Payload:
    id: int
    store_id: int
    day: date
    applied_count: int


@dataclass(slots=True)
class _Batch:
    payloads: list[int] = field(default_factory=list)
    products: int = 0


class PriceRows:
    """The rows of prices that match a filter, to be read once, in a transaction."""

    def __init__(self, connection: Connection, criteria: RowFilter) -> None:
        self._connection = connection
        self._criteria = criteria
        self._expected = 0
        self._found = 0

    @property
    def lost_history(self) -> bool:
        """Whether the database no longer has the history of more than a tenth of the observed products."""
        return self._found < 0.9 * self._expected

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for batch in self._batches():
            parameters = {"payloads": batch.payloads}
            self._expected += batch.products
            self._found += (await fetch(self._connection, ROWS.count_products, parameters, scalar_row))[0]
            async for piece in _copied(self._connection, ROWS.prices, parameters):
                yield piece

    async def _batches(self) -> AsyncIterator[_Batch]:
        """Yield payloads in batches that do not separate those of a store and a day."""
        batch, previous = _Batch(), None
        async with AsyncServerCursor(self._connection, "observed_payloads", row_factory=class_row(_Payload)) as cursor:
            cursor.itersize = PAYLOADS_AT_ONCE
            await cursor.execute(ROWS.observed_payloads, asdict(self._criteria))
            async for payload in cursor:
                place = (payload.day, payload.store_id)
                if place != previous and batch.products >= BATCH_PRODUCTS:
                    yield batch
                    batch = _Batch()
                batch.payloads.append(payload.id)
                batch.products += payload.applied_count
                previous = place
        if batch.payloads:
            yield batch


def product_rows(connection: Connection, criteria: RowFilter) -> AsyncIterator[bytes]:
    """Read the products that match a filter."""
    return _copied(connection, ROWS.products, asdict(criteria))


async def _copied(connection: Connection, query: bytes, parameters: Mapping[str, object]) -> AsyncIterator[bytes]:
    """Yield the rows of a query in pieces of whole rows, of about PIECE_BYTES."""
    piece = bytearray()
    async with (
        connection.cursor() as cursor,
        cursor.copy(b"copy (" + query + b"\n) to stdout (format csv)", parameters) as copy,
    ):
        # Postgres sends each row as a message of its own.
        async for row in copy:
            piece += row
            if len(piece) >= PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
    if piece:
        yield bytes(piece)
