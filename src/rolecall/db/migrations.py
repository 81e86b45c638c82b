"""A package's migrations as a value: numbered files that move tables, functions that are applied whole."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from rolecall.model.errors import SchemaDrift, SchemaMissing, SchemaTooNew

__all__ = [
    "FUNCTIONS_VERSION",
    "ROLECALL",
    "Applied",
    "Migration",
    "Migrations",
    "judge",
    "refuse_newer",
    "require_current",
]

FUNCTIONS_VERSION = 0
NUMBERED = re.compile(r"(\d{4})_(\w+)\.sql")
BREAKING = re.compile(r"^-- breaking: (yes|no)\s*$", re.MULTILINE)
# What stands on other functions comes after them; within a folder the names decide.
FOLDER_ORDER = ("internal", "public")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step: a numbered file, or (as version 0) all functions together."""

    version: int
    name: str
    sql: str
    breaking: bool

    @property
    def checksum(self) -> str:
        """What tells an edited file from the one that was applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def label(self) -> str:
        """How people call it: `0001_first_schema`."""
        return f"{self.version:04d}_{self.name}" if self.version else self.name


@dataclass(frozen=True, slots=True)
class Applied:
    """A row of rolecall.schema_migrations."""

    version: int
    checksum: str
    breaking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrations:
    """Where a package keeps its files: `folder` has `0001_name.sql` ..., `functions` any tree of .sql files.

    A numbered file may say `-- breaking: no` in its header: a release that does not know it still runs.
    """

    name: str
    folder: Traversable
    functions: Traversable | None = None

    def numbered(self) -> list[Migration]:
        """Read the numbered files, in their order."""
        found = [_read(file) for file in _sql_files(self.folder)]
        return sorted(found, key=lambda migration: migration.version)

    def all_functions(self) -> Migration | None:
        """Read the functions as one step; None if the package has none."""
        if self.functions is None:
            return None
        texts = [file.read_text("utf-8") for file in _sql_files(self.functions)]
        return Migration(version=FUNCTIONS_VERSION, name="functions", sql="\n".join(texts), breaking=False)

    def steps(self) -> list[Migration]:
        """Read everything, in the order in which it is applied."""
        functions = self.all_functions()
        return [*self.numbered(), *([functions] if functions else [])]


ROLECALL = Migrations(
    name="rolecall",
    folder=files("rolecall.sql") / "migrations",
    functions=files("rolecall.sql") / "functions",
)


def judge(migrations: Migrations, applied: Iterable[Applied]) -> list[Migration]:
    """Return the steps that are still to be applied.

    Raises SchemaDrift where an applied file was edited since. Functions never drift: they are applied again.
    """
    checksums = {row.version: row.checksum for row in applied}
    pending = []
    for step in migrations.steps():
        stored = checksums.get(step.version)
        if stored == step.checksum:
            continue
        if stored is not None and step.version != FUNCTIONS_VERSION:
            raise SchemaDrift(package=migrations.name, migration=step.label)
        pending.append(step)
    return pending


def refuse_newer(migrations: Migrations, applied: Iterable[Applied], *, even_compatible: bool) -> None:
    """Raise SchemaTooNew where the database has steps that this release does not know.

    Steps that call themselves compatible (`-- breaking: no`) are refused only on demand.
    """
    known = max((step.version for step in migrations.numbered()), default=0)
    newer = [row for row in applied if row.version > known and (even_compatible or row.breaking)]
    if newer:
        raise SchemaTooNew(package=migrations.name, known=known, found=max(row.version for row in newer))


def require_current(migrations: Migrations, applied: Iterable[Applied]) -> None:
    """Raise unless this release can run on a database in this state.

    Other functions than this release's own are no reason: during a deploy, old and new share a database.
    """
    rows = list(applied)
    refuse_newer(migrations, rows, even_compatible=False)
    pending = [step.label for step in judge(migrations, rows) if step.version != FUNCTIONS_VERSION]
    if pending:
        raise SchemaMissing(package=migrations.name, pending=pending)


def _read(file: Traversable) -> Migration:
    match = NUMBERED.fullmatch(file.name)
    if match is None:
        raise ValueError(f"{file.name} is not called like 0001_what_it_does.sql")
    sql = file.read_text("utf-8")
    header = BREAKING.search(sql)
    return Migration(version=int(match[1]), name=match[2], sql=sql, breaking=header is None or header[1] == "yes")


def _sql_files(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=_place):
        if entry.is_dir():
            yield from _sql_files(entry)
        elif entry.name.endswith(".sql"):
            yield entry


def _place(entry: Traversable) -> tuple[int, str]:
    known = entry.name in FOLDER_ORDER
    return (FOLDER_ORDER.index(entry.name) if known else len(FOLDER_ORDER), entry.name)
