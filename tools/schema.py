"""Generates the first migration from `sql/schema`, and docs/reference/schema.sql from a migrated database.

The first migration is generated until 0.1.0 is released. From then on, schema changes are numbered files of their own.
The reference shows types, tables and indexes as pg_dump prints them, so that a change shows in a diff.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from rolecall.db.embedded.binaries import find_binaries
from rolecall.db.embedded.server import EmbeddedServer
from rolecall.db.migrator import migrate

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference" / "schema.sql"
SQL = ROOT / "src" / "rolecall" / "sql"
FIRST = SQL / "migrations" / "0001_schema.sql"
HEADER = "-- breaking: yes\n-- Generated from sql/schema by `./dev schema`.\n\n"
MADE_BY_FILES = re.compile(
    r"^CREATE (?:(?:FUNCTION|PROCEDURE) (?!rolecall\.is_sound).*?(\$\w*\$).*?\1|VIEW .*?);\n", re.DOTALL | re.MULTILINE
)
# pg_dump writes a new random word here each time.
RESTRICTIONS = ("\\restrict", "\\unrestrict")


def main() -> int:
    """Write the first migration, apply all migrations to a new database, and write its schema."""
    FIRST.write_text(first_migration(), "utf-8")
    with tempfile.TemporaryDirectory(prefix="rolecall-schema-") as folder, EmbeddedServer(Path(folder)) as server:
        dsn = server.dsn("schema")
        with psycopg.connect(dsn, autocommit=True) as connection:
            migrate(connection)
        REFERENCE.write_text(reference(dsn), "utf-8")
    print(f"wrote {FIRST.name} and {REFERENCE.name}")
    return 0


def first_migration() -> str:
    """Return the files of `sql/schema` as one migration."""
    return HEADER + "\n".join(file.read_text("utf-8") for file in sorted((SQL / "schema").glob("*.sql")))


def reference(dsn: str) -> str:
    """Return the schema of a migrated database without the functions and views, which have files of their own."""
    return MADE_BY_FILES.sub("", dump(dsn, "--schema-only"))


def dump(dsn: str, *options: str) -> str:
    """Return schema rolecall as pg_dump writes it, without comments, settings and blank lines."""
    tool = find_binaries().postgres.parent / "pg_dump"
    command = [str(tool), *options, "--schema=rolecall", "--no-owner", "--no-privileges", f"--dbname={dsn}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "".join(f"{line}\n" for line in text.splitlines() if _is_shown(line))


def _is_shown(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("--", "SET ", "SELECT pg_catalog.set_config", *RESTRICTIONS))


if __name__ == "__main__":
    sys.exit(main())
