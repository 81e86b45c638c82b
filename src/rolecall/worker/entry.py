"""What every process does first that serves an app: see that the schema fits, and tell the pool what there is."""

from __future__ import annotations

from rolecall.db.migrator import check_async
from rolecall.sql import keys, roles, schedules
from rolecall.worker.program import Program
from rolecall.worker.session import Session

__all__ = ["declare"]


async def declare(session: Session, app: Program) -> None:
    """Declare the app's roles, handlers and keys, add the schedules that are missing.

    Raises SchemaMissing, SchemaTooNew.
    """
    await session.ask(check_async)
    await session.run(roles.declare(*app.declaration()))
    await session.run(keys.declare(app.key_capacities))
    await session.run(schedules.ensure(app.schedules.values()))
