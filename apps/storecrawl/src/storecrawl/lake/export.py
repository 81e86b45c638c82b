"""Write prices or products of the database to a file, row by row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from storecrawl.lake.columns import PRICES, PRODUCTS
from storecrawl.lake.rows import PriceRows, RowFilter, product_rows
from storecrawl.statements import Connection


class Subject(StrEnum):
    """The rows to export."""

    PRICES = "prices"
    PRODUCTS = "products"


COLUMNS = {Subject.PRICES: PRICES, Subject.PRODUCTS: PRODUCTS}


async def export_csv(connection: Connection, subject: Subject, criteria: RowFilter, output: BinaryIO) -> None:
    """Write rows as CSV with a header. A null is empty, an empty text is two quotes; times are in UTC."""
    output.write(f"{','.join(COLUMNS[subject])}\n".encode())
    async with connection.transaction():
        async for piece in await _rows(connection, subject, criteria):
            output.write(piece)


async def export_parquet(connection: Connection, subject: Subject, criteria: RowFilter, file: Path) -> int:
    """Write rows to a new Parquet file and return their number. Needs the extra `lake`."""
    # It imports pyarrow, which CSV does not need.
    from storecrawl.lake.parquet import ParquetFile  # noqa: PLC0415

    with ParquetFile(file, COLUMNS[subject]) as writer:
        async with connection.transaction():
            async for piece in await _rows(connection, subject, criteria):
                await asyncio.to_thread(writer.add, piece)
    return writer.row_count


async def _rows(connection: Connection, subject: Subject, criteria: RowFilter) -> AsyncIterable[bytes]:
    await connection.execute("set local timezone to 'UTC'")
    return PriceRows(connection, criteria) if subject is Subject.PRICES else product_rows(connection, criteria)
