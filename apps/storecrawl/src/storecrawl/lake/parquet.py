"""Write rows to a Parquet file. Imported only where the extra `lake` is needed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from storecrawl.lake.columns import Columns

# Rows of 16 MB of CSV are about 70,000. A larger group needs more memory and compresses no better.
GROUP_BYTES = 16 * 1024 * 1024
TYPES = {
    "text": pa.string(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "decimal": pa.decimal128(9, 3),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "time": pa.timestamp("us", tz="UTC"),
}


def arrow_schema(columns: Columns) -> pa.Schema:
    """Return the columns as a schema of Arrow."""
    return pa.schema([(name, TYPES[kind]) for name, kind in columns.items()])


class ParquetFile:
    """A new file, filled with rows in CSV. Blocks, so use it in a thread.

    `row_count` and `size`, in bytes, are those of the file after its end.
    """

    def __init__(self, path: Path, columns: Columns, *, without: Collection[str] = ()) -> None:
        self.row_count = 0
        self.size = 0
        self._path = path
        self._rows = bytearray()
        schema = arrow_schema(columns)
        kept = [name for name in columns if name not in without]
        self._reading = pa.csv.ReadOptions(column_names=list(columns), block_size=2 * GROUP_BYTES)
        self._parsing = pa.csv.ParseOptions(newlines_in_values=True)
        # Postgres writes null without quotes, and an empty text with them.
        self._converting = pa.csv.ConvertOptions(
            column_types=schema,
            include_columns=kept,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        kept_schema = pa.schema([schema.field(name) for name in kept])
        self._writer = pa.parquet.ParquetWriter(path, kept_schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._write_group()
        self._writer.close()
        self.size = self._path.stat().st_size

    def add(self, rows: bytes) -> None:
        """Add whole rows. Raises ValueError if they do not fit the columns."""
        self._rows += rows
        if len(self._rows) >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if not self._rows:
            return
        table = pa.csv.read_csv(
            pa.py_buffer(bytes(self._rows)),
            read_options=self._reading,
            parse_options=self._parsing,
            convert_options=self._converting,
        )
        self._rows.clear()
        self._writer.write_table(table.combine_chunks(), row_group_size=len(table))
        self.row_count += len(table)
