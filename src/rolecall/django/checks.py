"""The check of Rolecall's schema in `manage.py check --database`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import Warning as CheckWarning

from rolecall.db import migrator
from rolecall.db.connect import connect
from rolecall.db.register import exists
from rolecall.db.run import run
from rolecall.django.connections import database_dsn
from rolecall.django.options import options
from rolecall.model.errors import RolecallError

OLD = "rolecall.W001"
STRANGE = "rolecall.W002"


def functions_are_current(databases: Sequence[str] | None = None, **_asked: object) -> list[Any]:
    """Warn if the schema is not that of this release. A missing schema is reported by Django's own migrations."""
    if options().database not in (databases or ()):
        return []
    try:
        with connect(database_dsn(), "check") as connection:
            steps = migrator.pending(connection) if run(connection, exists("rolecall.schema_migrations")) else []
    except RolecallError as error:
        return [CheckWarning(f"Rolecall's schema: {error}", id=STRANGE)]
    if not steps:
        return []
    problem = f"Rolecall's schema is of another release. Pending: {', '.join(steps)}"
    return [CheckWarning(problem, hint="`manage.py migrate` applies it.", id=OLD)]
