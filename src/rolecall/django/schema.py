"""Applies Rolecall's schema in `manage.py migrate`: tables in a Django migration, functions after each run."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connections
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from rolecall.db import migrator
from rolecall.db.connect import connect
from rolecall.django.connections import database_dsn
from rolecall.django.options import options

LABEL = "rolecall"
STAYS = (
    "Rolecall's schema is not removed, because it may contain tasks. To remove both, run `drop schema rolecall "
    "cascade` in Postgres and then `manage.py migrate rolecall zero --fake`"
)


class BringSchema(Operation):
    """Migrates Rolecall's database to the running release, at least to the named step.

    Rolecall's migrator does this on its own connection, because not all of its steps can share a transaction. Other
    databases are left alone.
    """

    atomic = False

    def __init__(self, step: str) -> None:
        self.step = step

    def describe(self) -> str:
        return f"Bring Rolecall's schema to {self.step} or later"

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Do nothing: the state of models does not change."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002 - Django's
        """Migrate, or, for `sqlmigrate`, print the script."""
        if schema_editor.connection.alias != options().database:
            return
        if schema_editor.collect_sql:
            schema_editor.collected_sql.append(migrator.sql_text())
        else:
            _migrate()

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002 - Django's
        if schema_editor.connection.alias == options().database:
            raise IrreversibleError(STAYS)


def bring_functions(using: str, plan: Any = None, **_signal: object) -> None:
    """Apply the remaining changes if Django considers our migrations applied, or has none to apply.

    That happens with releases that change functions only, and with databases created without migrations, as in tests.
    """
    if using == options().database and plan is not None and _is_migrated(using):
        _migrate()


def _is_migrated(alias: str) -> bool:
    if settings.MIGRATION_MODULES.get(LABEL, LABEL) is None:
        return True
    loader = MigrationLoader(connections[alias])
    return all(node in loader.applied_migrations for node in loader.graph.leaf_nodes(LABEL))


def _migrate() -> None:
    with connect(database_dsn(), "migrate") as connection:
        if migrator.migrate(connection):
            migrator.make_room(connection)
