"""An app's own tables: combines migrations and checks the schema of a database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rolecall.app.declarations import AppCheck
from rolecall.db.migrations import ROLECALL, Migrations
from rolecall.model.errors import InvalidDeclaration, SchemaDrift, SchemaMissing, SchemaTooNew
from rolecall.model.findings import Finding, Severity

if TYPE_CHECKING:
    import psycopg

MIGRATE = "run: rolecall migrate --app MODULE:APP"
RELEASE = "run the release of the app that has migrated the database"
RESTORE = "restore that file and put the change into a new one"
REPAIR = "repair the app's migration files"


def merge_migrations(known: Sequence[Migrations], given: Iterable[Migrations]) -> list[Migrations]:
    """Return the known migrations followed by new ones, without duplicates.

    Raises InvalidDeclaration for a value that is not Migrations, for Rolecall's name, and for a name that is taken.
    """
    together = list(known)
    for package in given:
        if not isinstance(package, Migrations):
            raise InvalidDeclaration(f"migrations are rolecall.Migrations, not a {type(package).__name__}")
        if package in together:
            continue
        if package.name in {ROLECALL.name, "", *(other.name for other in together)}:
            raise InvalidDeclaration(f"there are already migrations named {package.name!r}")
        together.append(package)
    return together


def schema_check(app: str, packages: Sequence[Migrations]) -> AppCheck:
    """Return the check that the database has an app's tables as this release needs them."""
    return AppCheck(app, f"{app}.schema", SchemaCheck(packages))


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """Checks the schema of each package."""

    packages: Sequence[Migrations]

    async def __call__(self, connection: psycopg.AsyncConnection[Any]) -> list[Finding]:
        """Return findings for migrations that are pending, unknown to this release, edited or invalid."""
        return [found for package in self.packages if (found := await _check_package(connection, package))]


async def _check_package(connection: psycopg.AsyncConnection[Any], package: Migrations) -> Finding | None:
    from rolecall.db.migrator import check_async  # noqa: PLC0415 - imports the driver, which declarations do not need

    try:
        await check_async(connection, package)
    except SchemaMissing as error:
        return _finding(error.lacks, MIGRATE)
    except SchemaTooNew as error:
        return _finding(str(error), RELEASE)
    except SchemaDrift as error:
        return _finding(str(error), RESTORE)
    except InvalidDeclaration as error:
        return _finding(str(error), REPAIR)
    return None


def _finding(problem: str, advice: str) -> Finding:
    return Finding(severity=Severity.TROUBLE, problem=problem, advice=advice)
