"""Writes docs/reference/schema.sql: the schema as pg_dump sees it, so that each change of it shows in a diff."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from rolecall.db.embedded import EmbeddedServer
from rolecall.db.embedded.binaries import find_binaries
from rolecall.db.migrator import migrate

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "schema.sql"
# pg_dump writes a new random word here each time.
RESTRICTIONS = ("\\restrict", "\\unrestrict")


def main() -> int:
    """Make a database from the migrations on a server of its own, and write down what came of it."""
    with tempfile.TemporaryDirectory(prefix="rolecall-schema-") as folder, EmbeddedServer(Path(folder)) as server:
        dsn = server.dsn("schema")
        with psycopg.connect(dsn, autocommit=True) as connection:
            migrate(connection)
        REFERENCE.parent.mkdir(parents=True, exist_ok=True)
        REFERENCE.write_text(dump(dsn), "utf-8")
    print(f"wrote {REFERENCE.name}")
    return 0


def dump(dsn: str) -> str:
    """Return the definitions of schema rolecall, without comments, settings and blank lines."""
    tool = find_binaries().postgres.parent / "pg_dump"
    command = [str(tool), "--schema-only", "--schema=rolecall", "--no-owner", "--no-privileges", f"--dbname={dsn}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "".join(f"{line}\n" for line in text.splitlines() if _says_something(line))


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("--", "SET ", "SELECT pg_catalog.set_config", *RESTRICTIONS))


if __name__ == "__main__":
    sys.exit(main())
