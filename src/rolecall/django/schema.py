"""Our schema as `manage.py migrate` brings it: its tables by a migration of Django's, its functions after each run."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connections
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from rolecall.db import migrator
from rolecall.db.connect import connect
from rolecall.django.connections import dsn_of_pool
from rolecall.django.options import options

__all__ = ["BringSchema", "bring_functions"]

LABEL = "rolecall"
STAYS = (
    "Rolecall's schema is not taken back: tasks may stand in it. Who wants to be rid of them and of it says so to "
    "Postgres (`drop schema rolecall cascade`), and then to Django: `manage.py migrate rolecall zero --fake`"
)


class BringSchema(Operation):
    """Bring the pool's database to the schema of the release that runs this, at least to the step that is named.

    Our own migrator does it, by a connection of its own, as its steps may not all stand in one transaction. On other
    databases than the pool's nothing is done.
    """

    atomic = False

    def __init__(self, step: str) -> None:
        self.step = step

    def describe(self) -> str:
        """Say it in `migrate --plan`."""
        return f"Bring Rolecall's schema to {self.step} or later"

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change nothing that Django keeps of its models."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002 - Django's
        """Migrate; for `sqlmigrate`, which runs nothing, give the whole script instead."""
        if schema_editor.connection.alias != options().database:
            return
        if schema_editor.collect_sql:
            schema_editor.collected_sql.append(migrator.sql_text())
        else:
            _migrate()

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002 - Django's
        """Refuse: raise IrreversibleError, which says what to do instead."""
        if schema_editor.connection.alias == options().database:
            raise IrreversibleError(STAYS)


def bring_functions(using: str, plan: Any = None, **_signal: object) -> None:
    """Apply what has changed since, where Django holds our migrations for applied, or has none of ours to apply.

    That is what a release brings that moves no table, and a database that was made without migrations, as for tests.
    """
    if using == options().database and plan is not None and _is_migrated(using):
        _migrate()


def _is_migrated(alias: str) -> bool:
    if settings.MIGRATION_MODULES.get(LABEL, LABEL) is None:
        return True
    loader = MigrationLoader(connections[alias])
    return all(node in loader.applied_migrations for node in loader.graph.leaf_nodes(LABEL))


def _migrate() -> None:
    with connect(dsn_of_pool(), "migrate") as connection:
        if migrator.migrate(connection):
            migrator.make_room(connection)
