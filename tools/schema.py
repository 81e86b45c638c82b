"""Writes docs/reference/schema.sql: types, tables and indexes as pg_dump sees them, so that a change shows in a diff.

With `--release`, writes down the whole database of this release instead, for the tests of later ones: what a worker of
this release calls must be there in them, and this database must become theirs.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from rolecall.db.embedded.binaries import find_binaries
from rolecall.db.embedded.server import EmbeddedServer
from rolecall.db.migrator import migrate
from tools.engine import PACKAGE, Engine

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference" / "schema.sql"
RELEASED = ROOT / "tests" / "db" / "released.sql.gz"
CALL = re.compile(r"rolecall\.([a-z_]+)\(")
MADE_BY_FILES = re.compile(
    r"^CREATE (?:(?:FUNCTION|PROCEDURE) (?!rolecall\.is_sound).*?(\$\w*\$).*?\1|VIEW .*?);\n", re.DOTALL | re.MULTILINE
)
# pg_dump writes a new random word here each time.
RESTRICTIONS = ("\\restrict", "\\unrestrict")


def main() -> int:
    """Make a database from the migrations on a server of its own, and write down what came of it."""
    with tempfile.TemporaryDirectory(prefix="rolecall-schema-") as folder, EmbeddedServer(Path(folder)) as server:
        dsn = server.dsn("schema")
        with psycopg.connect(dsn, autocommit=True) as connection:
            migrate(connection)
        released = "--release" in sys.argv[1:]
        written = RELEASED if released else REFERENCE
        text = f"-- called: {' '.join(called())}\n{dump(dsn, '--inserts')}" if released else reference(dsn)
        written.write_bytes(gzip.compress(text.encode(), mtime=0) if released else text.encode())
    print(f"wrote {written.name}")
    return 0


def reference(dsn: str) -> str:
    """Return what `sql/schema` and the migrations make; other functions, and views, stand in files of their own."""
    return MADE_BY_FILES.sub("", dump(dsn, "--schema-only"))


def dump(dsn: str, *options: str) -> str:
    """Return schema rolecall as pg_dump writes it, without comments, settings and blank lines."""
    tool = find_binaries().postgres.parent / "pg_dump"
    command = [str(tool), *options, "--schema=rolecall", "--no-owner", "--no-privileges", f"--dbname={dsn}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "".join(f"{line}\n" for line in text.splitlines() if _says_something(line))


def called() -> list[str]:
    """Return the functions that others may call, and those that Python calls besides."""
    public = {made.name for made in Engine.read(ROOT).made if made.is_public}
    asked = {name for file in (ROOT / PACKAGE).rglob("*.py") for name in CALL.findall(file.read_text("utf-8"))}
    return sorted(public | asked)


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("--", "SET ", "SELECT pg_catalog.set_config", *RESTRICTIONS))


if __name__ == "__main__":
    sys.exit(main())
