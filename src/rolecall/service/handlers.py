"""What an operator may ask about handlers."""

from __future__ import annotations

from difflib import get_close_matches

from rolecall.model.errors import HandlerNotFound, InvalidPayload
from rolecall.model.handlers import DeclaredHandler
from rolecall.model.misfits import misfit
from rolecall.model.tasks import NewTask
from rolecall.service.database import Database
from rolecall.sql import handlers, insight


class Handlers:
    """The handlers as they are stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[DeclaredHandler]:
        """All handlers by role and name."""
        return await self._database.run(handlers.list_())

    async def get(self, name: str) -> DeclaredHandler:
        """One handler. Raises HandlerNotFound, with a close match where there is one."""
        for handler in await self._database.run(handlers.list_(name)):
            return handler
        names = await self._database.run(insight.handler_names())
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise HandlerNotFound(f"no handler is called {name!r}{hint}")

    async def require_fit(self, task: NewTask) -> None:
        """Hold a task's payload against what its handler's program has declared, if any has. Raises InvalidPayload."""
        known = await self._database.run(handlers.list_(task.handler)) if task.handler else []
        for handler in known:
            problem = misfit(task.payload, handler.signature or {})
            if problem is not None:
                raise InvalidPayload(problem, handler=handler.name)
