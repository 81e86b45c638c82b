"""A package's migrations: numbered files that change tables, and a tree of functions and views, one per file."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import attrgetter

from rolecall.model.errors import InvalidDeclaration, SchemaDrift, SchemaMissing, SchemaTooNew

FUNCTIONS_VERSION = 0
NUMBERED = re.compile(r"(\d{4})_(\w+)\.sql")
BREAKING = re.compile(r"^-- breaking: (yes|no)\s*$", re.MULTILINE)
ALONE = re.compile(r"^-- transaction: no\s*$", re.MULTILINE)
PHASE = re.compile(r"^-- phase: (\w+)\s*$", re.MULTILINE)
CREATES = re.compile(r"^create or replace (?:function|procedure|view) ([\w.]+)", re.IGNORECASE | re.MULTILINE)
VIEW = re.compile(r"^create or replace view ([\w.]+)", re.IGNORECASE | re.MULTILINE)
RETURNS_ROWS_OF = re.compile(r"^returns setof ([\w.]+)", re.IGNORECASE | re.MULTILINE)


class Phase(Enum):
    """When a step is applied: all of one phase before any of the next."""

    EXPAND = "expand"
    FUNCTIONS = "functions"
    CONTRACT = "contract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step: a numbered file, or all functions and views together (version 0).

    Each statement of an `alone` step runs outside of a transaction, so it must be safe to repeat.
    """

    version: int
    name: str
    sql: str
    breaking: bool
    alone: bool = False
    phase: Phase = Phase.EXPAND

    @property
    def checksum(self) -> str:
        """The SHA-256 of the text, which shows whether an applied file was edited."""
        return _checksum(self.sql)

    @property
    def label(self) -> str:
        """The name in messages and plans: `0001_schema`."""
        return f"{self.version:04d}_{self.name}" if self.version else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFile:
    """A file of the tree of functions: `claim/claim.sql`."""

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """The SHA-256 of the text, which shows whether the database has this version."""
        return _checksum(self.sql)

    @property
    def creates(self) -> frozenset[str]:
        """The qualified names of the functions, procedures and views that the file creates."""
        return frozenset(CREATES.findall(self.sql))

    @property
    def view(self) -> str | None:
        """The view that the file creates, if any; a file creates at most one."""
        found = VIEW.search(self.sql)
        return found[1] if found else None

    def returns_rows_of(self, views: Collection[str]) -> bool:
        """Return whether a function in the file returns rows of one of these views, which must then exist before it."""
        return any(name in views for name in RETURNS_ROWS_OF.findall(self.sql))


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """A row of rolecall.schema_migrations."""

    version: int
    checksum: str
    breaking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a database: applied steps and file checksums of a package, and all functions and views."""

    applied: list[AppliedMigration] = field(default_factory=list)
    files: Mapping[str, str] = field(default_factory=dict)
    objects: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Release:
    """The migrations of a package, read from their files."""

    package: str
    numbered: list[Migration]
    files: list[SqlFile]

    @cached_property
    def steps(self) -> list[Migration]:
        """All steps in the order they are applied: by phase, then by number, then the functions."""
        steps = [*self.numbered, *([self._functions] if self.files else [])]
        return [step for phase in Phase for step in steps if step.phase is phase]

    @property
    def _functions(self) -> Migration:
        sql = "\n".join(file.sql for file in self.files)
        return Migration(version=FUNCTIONS_VERSION, name="functions", sql=sql, breaking=False, phase=Phase.FUNCTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrations:
    """Where a package keeps its files: `folder` has `0001_name.sql` ..., `functions` any tree of .sql files.

    The header of a numbered file may contain these lines:

        -- breaking: no        a release that does not know the file can still run
        -- transaction: no     each statement runs outside of a transaction, as `create index concurrently` must
        -- phase: functions    applied in the transaction of the functions, before them: drops a function that is
                               created again with another result or other parameters
        -- phase: contract     applied after the functions: drops objects that they no longer use

    Files without a phase expand the schema: they run first and keep everything that older functions use. No later file
    may create an object again that a contracting file drops, because an empty database gets the contracting files last.
    A file of the tree uses `create or replace`. It is applied if its text has changed or its objects are missing.
    """

    name: str
    folder: Traversable
    functions: Traversable | None = None

    def read(self) -> Release:
        """Read each file once. Raises InvalidDeclaration if the files cannot be applied."""
        return Release(package=self.name, numbered=self._numbered_files(), files=self._files())

    def _numbered_files(self) -> list[Migration]:
        found = [self._migration(file) for _, file in self._sql_files(self.folder)]
        twice = [f"{version:04d}" for version, times in Counter(each.version for each in found).items() if times > 1]
        if twice:
            raise self._invalid(f"more than one file has the number {', '.join(twice)}")
        return sorted(found, key=lambda migration: migration.version)

    def _files(self) -> list[SqlFile]:
        """Read the tree in the order it is applied: functions, views, functions that return rows of views."""
        found = self._sql_files(self.functions) if self.functions else ()
        read = [SqlFile(name=name, sql=self._text(file)) for name, file in found]
        views = {file.view for file in read if file.view}
        return sorted(read, key=lambda file: 1 if file.view else 2 if file.returns_rows_of(views) else 0)

    def _migration(self, file: Traversable) -> Migration:
        match = NUMBERED.fullmatch(file.name)
        if match is None or int(match[1]) == FUNCTIONS_VERSION:
            raise self._invalid(f"{file.name} is not called like 0001_what_it_does.sql")
        sql = self._text(file)
        header = BREAKING.search(sql)
        breaking = header is None or header[1] == "yes"
        alone = bool(ALONE.search(sql))
        return Migration(
            version=int(match[1]), name=match[2], sql=sql, breaking=breaking, alone=alone, phase=self._phase(file, sql)
        )

    def _phase(self, file: Traversable, sql: str) -> Phase:
        given = PHASE.search(sql)
        try:
            phase = Phase(given[1]) if given else Phase.EXPAND
        except ValueError:
            known = ", ".join(each.value for each in Phase)
            raise self._invalid(f"{file.name} has an unknown phase; it is one of {known}") from None
        if phase is Phase.FUNCTIONS and (ALONE.search(sql) or self.functions is None):
            raise self._invalid(f"{file.name} cannot be applied in the transaction of the functions")
        return phase

    def _sql_files(self, folder: Traversable) -> list[tuple[str, Traversable]]:
        try:
            return list(_sql_files(folder))
        except OSError as error:
            raise self._invalid(f"{folder} cannot be read: {error.strerror}") from error

    def _text(self, file: Traversable) -> str:
        try:
            return file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self._invalid(f"{file.name} cannot be read: {error}") from error

    def _invalid(self, problem: str) -> InvalidDeclaration:
        return InvalidDeclaration(f"the migrations of {self.name!r} cannot be applied: {problem}")


ROLECALL = Migrations(
    name="rolecall",
    folder=files("rolecall.sql") / "migrations",
    functions=files("rolecall.sql") / "functions",
)


def judge(release: Release, state: State) -> list[Migration]:
    """Return the steps that are still to be applied.

    Raises SchemaDrift if an applied numbered file was edited. Functions never drift: they are applied again.
    """
    checksums = {row.version: row.checksum for row in state.applied}
    pending: list[Migration] = []
    for step in release.steps:
        stored = checksums.get(step.version)
        if step.version == FUNCTIONS_VERSION:
            makes_way = any(each.phase is Phase.FUNCTIONS for each in pending)
            if makes_way or stored != step.checksum or changed_files(release, state):
                pending.append(step)
        elif stored is None:
            pending.append(step)
        elif stored != step.checksum:
            raise SchemaDrift(package=release.package, migration=step.label)
    return pending


def changed_files(release: Release, state: State) -> list[SqlFile]:
    """Return the files of the tree that the database has with another text, or whose objects are missing."""
    return [
        file
        for file in release.files
        if state.files.get(file.name) != file.checksum or not file.creates <= state.objects
    ]


def refuse_newer(release: Release, applied: Iterable[AppliedMigration], *, even_compatible: bool) -> None:
    """Raise SchemaTooNew if the database has steps that this release does not know.

    Steps marked as compatible (`-- breaking: no`) are rejected only if `even_compatible`.
    """
    known = max((step.version for step in release.numbered), default=0)
    newer = [row for row in applied if row.version > known and (even_compatible or row.breaking)]
    if newer:
        raise SchemaTooNew(package=release.package, known=known, found=max(row.version for row in newer))


def require_current(release: Release, applied: Iterable[AppliedMigration]) -> None:
    """Raise unless this release can run on a database in this state.

    Functions of another release are accepted, because two releases share a database during a deployment. Objects that a
    contracting step will drop are accepted too.
    """
    state = State(applied=list(applied))
    refuse_newer(release, state.applied, even_compatible=False)
    pending = [
        step.label
        for step in judge(release, state)
        if step.version != FUNCTIONS_VERSION and step.phase is not Phase.CONTRACT
    ]
    if pending:
        raise SchemaMissing(package=release.package, pending=pending)


def _sql_files(folder: Traversable, within: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=attrgetter("name")):
        if entry.is_dir():
            yield from _sql_files(entry, f"{within}{entry.name}/")
        elif entry.name.endswith(".sql"):
            yield within + entry.name, entry


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
