"""Generates first migrations from schema files, and two references from a migrated database.

    ./dev schema            write all of them
    ./dev schema --freeze   record the checksums of all numbered migrations, after a release

A recorded migration is not written any more. Later changes of the schema are numbered files of their own.
Rolecall's reference shows types, tables and indexes as pg_dump prints them, so that a change shows in a diff.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
from storecrawl.catalog.relations import read_relations, reference_page
from storecrawl.migrations import MIGRATIONS

from rolecall.db.migrator import migrate
from rolecall.embedded.binaries import find_binaries
from rolecall.embedded.server import EmbeddedServer

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference" / "schema.sql"
STORECRAWL_REFERENCE = ROOT / "docs" / "reference" / "storecrawl-schema.md"
SQL = ROOT / "src" / "rolecall" / "sql"
STORECRAWL = ROOT / "apps" / "storecrawl" / "src" / "storecrawl"
SOURCES = (SQL, STORECRAWL)
FIRST = Path("migrations") / "0001_schema.sql"
# In the format of sha256sum. Missing until the first release.
FROZEN = ROOT / "locks" / "migrations.sha256"
HEADER = "-- breaking: yes\n-- Generated from the files of schema by `./dev schema`.\n\n"
MADE_BY_FILES = re.compile(
    r"^CREATE (?:(?:FUNCTION|PROCEDURE) (?!rolecall\.is_sound).*?(\$\w*\$).*?\1|VIEW .*?);\n", re.DOTALL | re.MULTILINE
)
# pg_dump writes a new random word here each time.
RESTRICTIONS = ("\\restrict", "\\unrestrict")


def main(options: Sequence[str]) -> int:
    """Write the first migrations that are not frozen, apply Rolecall's to a new database, and write its schema."""
    if "--freeze" in options:
        return freeze()
    generated = generated_sources()
    for folder in generated:
        (folder / FIRST).write_text(first_migration(folder), "utf-8")
    with tempfile.TemporaryDirectory(prefix="rolecall-schema-") as data, EmbeddedServer(Path(data)) as server:
        dsn = server.dsn("schema")
        with psycopg.connect(dsn, autocommit=True) as connection:
            migrate(connection)
            REFERENCE.write_text(reference(dsn), "utf-8")
            migrate(connection, MIGRATIONS)
        STORECRAWL_REFERENCE.write_text(asyncio.run(storecrawl_reference(dsn)), "utf-8")
    print(f"wrote {FIRST.name} of {len(generated)} packages, {REFERENCE.name} and {STORECRAWL_REFERENCE.name}")
    return 0


def freeze() -> int:
    """Record the checksums of all numbered migrations."""
    migrations = sorted(file for folder in SOURCES for file in (folder / "migrations").glob("*.sql"))
    lines = [f"{checksum(file)}  {file.relative_to(ROOT).as_posix()}\n" for file in migrations]
    FROZEN.write_text("".join(lines), "utf-8")
    print(f"froze {len(lines)} migrations in {FROZEN.relative_to(ROOT)}")
    return 0


def frozen_checksums() -> Mapping[Path, str]:
    """Return the checksums of the frozen migrations, by file."""
    lines = FROZEN.read_text("utf-8").splitlines() if FROZEN.exists() else []
    return {ROOT / name: digest for digest, name in map(str.split, lines)}


def checksum(file: Path) -> str:
    """Return a file's SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def generated_sources() -> list[Path]:
    """Return the packages whose first migration is not frozen."""
    return [folder for folder in SOURCES if folder / FIRST not in frozen_checksums()]


def first_migration(folder: Path) -> str:
    """Return the files of a folder's `schema` as one migration."""
    return HEADER + "\n".join(file.read_text("utf-8") for file in sorted((folder / "schema").glob("*.sql")))


def reference(dsn: str) -> str:
    """Return the schema of a migrated database without the functions and views, which have files of their own."""
    return MADE_BY_FILES.sub("", dump(dsn, "--schema-only"))


async def storecrawl_reference(dsn: str) -> str:
    """Return the page about the crawler's tables of a migrated database."""
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        return reference_page(await read_relations(connection))


def dump(dsn: str, *options: str) -> str:
    """Return schema rolecall as pg_dump writes it, without comments, settings and blank lines."""
    tool = find_binaries().postgres.parent / "pg_dump"
    command = [str(tool), *options, "--schema=rolecall", "--no-owner", "--no-privileges", f"--dbname={dsn}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "".join(f"{line}\n" for line in text.splitlines() if _is_shown(line))


def _is_shown(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("--", "SET ", "SELECT pg_catalog.set_config", *RESTRICTIONS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
