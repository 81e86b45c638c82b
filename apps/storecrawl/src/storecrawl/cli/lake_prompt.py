"""A prompt for DuckDB, and the formats of its results."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

import duckdb
import msgspec

with suppress(ImportError):  # Windows has none
    import readline  # noqa: F401 - input() then edits lines, and has a history

ROWS_AT_ONCE = 10_000
MOST_ROWS = 200
_JSON = msgspec.json.Encoder(decimal_format="number", enc_hook=str)
GREETING = (
    "Views: prices, products, stores, brands. `describe prices;` lists columns. End a statement with ;, the prompt with"
    " Ctrl-D."
)

Show = Callable[[duckdb.DuckDBPyConnection, str], None]


def run(connection: duckdb.DuckDBPyConnection, text: str, show: Show) -> None:
    """Run statements and write the results of those that have one. Raises duckdb.Error."""
    for statement in connection.extract_statements(text):
        if duckdb.ExpectedResultType.QUERY_RESULT in statement.expected_result_type:
            show(connection, statement.query)
        else:
            connection.execute(statement)


def prompt(connection: duckdb.DuckDBPyConnection, show: Show) -> None:
    """Run statements from the terminal until Ctrl-D. An error ends only its statement, Ctrl-C the present one."""
    print(GREETING)
    lines: list[str] = []
    while True:
        try:
            lines.append(input("  ... " if lines else "lake> "))
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            lines.clear()
            continue
        if lines[-1].rstrip().endswith(";"):
            _try(connection, "\n".join(lines), show)
            lines.clear()


def _try(connection: duckdb.DuckDBPyConnection, text: str, show: Show) -> None:
    try:
        run(connection, text, show)
    except duckdb.Error as problem:
        print(problem, file=sys.stderr)
    except KeyboardInterrupt:
        connection.interrupt()
        print("interrupted", file=sys.stderr)


def show_table(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Write a table, as wide as the terminal, of at most MOST_ROWS rows."""
    connection.sql(query).show(max_rows=MOST_ROWS)


def show_csv(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Write all rows as CSV with a header."""
    connection.execute(query)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(_names(connection))
    while rows := connection.fetchmany(ROWS_AT_ONCE):
        writer.writerows(rows)


def show_json(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Write one JSON array of objects. Decimals are numbers, times are texts in ISO form."""
    connection.execute(query)
    names, before = _names(connection), "["
    while rows := connection.fetchmany(ROWS_AT_ONCE):
        for row in rows:
            print(before, _JSON.encode(dict(zip(names, row, strict=True))).decode(), sep="", end="")
            before = ",\n"
    print("[]" if before == "[" else "]")


def _names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [column[0] for column in connection.description or ()]


SHOWN: Mapping[str, Show] = {"table": show_table, "csv": show_csv, "json": show_json}
