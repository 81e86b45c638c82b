"""Write the file of a day."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from storecrawl.lake.columns import PARTITION, PRICES
from storecrawl.lake.days import LakeDay, forget_files, hold_file, marks_of, record_file, remove_marks
from storecrawl.lake.parquet import ParquetFile
from storecrawl.lake.rows import PriceRows, RowFilter
from storecrawl.statements import Connection
from storecrawl.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDay:
    """A written file, or none: without rows, or if the database no longer has the whole history of the day."""

    rows: int
    size: int
    lost_history: bool


async def write_day(connection: Connection, storage: Storage, day: LakeDay) -> WrittenDay:
    """Replace the file of a day by one with the rows that the database has now, and remove the day's marks.

    The file is replaced before the caller commits: after a rollback, the marks are still there, and the day is
    written again. If the database has lost history of the day, the present file stays. Raises StorageError, OSError.
    """
    await hold_file(connection, day)
    marks = await marks_of(connection, day)
    criteria = RowFilter(since=day.day, until=day.day, platform=day.platform, state=day.state)
    rows = PriceRows(connection, criteria)
    with tempfile.TemporaryDirectory(prefix="storecrawl-lake-") as folder:
        file = Path(folder, "prices.parquet")
        with ParquetFile(file, PRICES, without=PARTITION) as writer:
            async for piece in rows:
                await asyncio.to_thread(writer.add, piece)
        written = WrittenDay(rows=writer.row_count, size=writer.size, lost_history=rows.lost_history)
        if not written.lost_history:
            await _replace(connection, storage, day, file, written)
    await remove_marks(connection, day, marks)
    return written


async def _replace(connection: Connection, storage: Storage, day: LakeDay, file: Path, written: WrittenDay) -> None:
    if written.rows:
        await asyncio.to_thread(storage.replace, day.path, file)
        await record_file(connection, day, row_count=written.rows, size=written.size)
    else:
        await asyncio.to_thread(storage.delete, day.path)
        await forget_files(connection, [day.path])
