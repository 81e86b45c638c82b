"""Errors about the database and its schema."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall.model.errors.root import RolecallError

OURS = "rolecall"
MOST_NAMED = 3


class DatabaseError(RolecallError):
    """The database refused or could not answer; the driver's error is the cause."""

    def __init__(self, problem: str, *, sqlstate: str | None = None) -> None:
        super().__init__(problem)
        self.sqlstate = sqlstate


class DatabaseUnavailable(DatabaseError):
    """The database cannot answer now; the same call may succeed later. Whether it took effect is unknown."""


class SchemaMissing(DatabaseError):
    """The database lacks tables or functions that this release needs."""

    def __init__(
        self,
        problem: str = "",
        *,
        package: str = OURS,
        pending: Sequence[str] = (),
        sqlstate: str | None = None,
    ) -> None:
        missing = f" ({_some_of(pending)})" if pending else ""
        lacks = problem or f"the database lacks the schema of {package}{missing}"
        super().__init__(lacks + _advice(lacks, package), sqlstate=sqlstate)
        self.package = package
        self.pending = tuple(pending)


def _some_of(pending: Sequence[str]) -> str:
    return ", ".join(pending) if len(pending) <= MOST_NAMED else f"{len(pending)} steps, from {pending[0]} on"


def _advice(lacks: str, package: str) -> str:
    if package != OURS:
        return "; run its migrations"
    # What a merge rule or a SQL handler of the user's own names is not ours to make.
    return "; run: rolecall migrate" if OURS in lacks else ""


class SchemaTooNew(DatabaseError):
    """The database was migrated by a newer release than this one."""

    def __init__(self, *, package: str, known: int, found: int) -> None:
        super().__init__(f"the database has version {found} of {package}, but this release knows only {known}")
        self.package = package
        self.known = known
        self.found = found


class SchemaDrift(DatabaseError):
    """A migration that was applied differs from the file of this release."""

    def __init__(self, *, package: str, migration: str) -> None:
        super().__init__(f"migration {migration} of {package} was edited after it had been applied")
        self.package = package
        self.migration = migration


class SchemaBusy(DatabaseUnavailable):
    """A migration has not got its locks in time, and changed nothing; the steps before it stay."""

    def __init__(self, *, step: str, seconds: float, holders: Sequence[str]) -> None:
        who = "; ".join(holders) or "nobody does any more: try again"
        super().__init__(f"{step} has not got its locks in {seconds:g} s, as others use the tables: {who}")
        self.step = step
        self.seconds = seconds
        self.holders = tuple(holders)


class WrongIsolation(DatabaseError):
    """The engine's functions run under READ COMMITTED only."""
