"""Saved views: queries of tasks under a name.

Views belong to the pool, not to a person. Whoever handles the next incident finds them, callers without a name (the
local token, a terminal) can save them too, and the audit log names who changed them. This is why changing them needs
the same right as other changes, and why their number is limited for all together.
"""

from __future__ import annotations

from collections.abc import Sequence

from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError, DuplicateView, FilterError, ViewNotFound
from rolecall.model.operator.saved_views import SavedView
from rolecall.model.operator.task_query import read_query
from rolecall.service.arguments import require_name, require_valid_filter
from rolecall.service.database import Database
from rolecall.sql import saved_views

LONGEST_NAME = 60
MOST_VIEWS = 100


class SavedViews:
    """The saved views of the pool."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[SavedView]:
        """List the saved views by name."""
        return await self._database.run(saved_views.list_())

    async def get(self, which: int | str) -> SavedView:
        """Return one saved view by its id or name. Raises ViewNotFound."""
        for view in await self.list():
            if which in (view.id, view.name):
                return view
        raise ViewNotFound(f"there is no saved view {which!r}")

    async def save(self, name: str, query: str) -> SavedView:
        """Save a query under a new name. Raises ConfigError, FilterError, DuplicateView."""
        _require_view_name(name)
        _require_query(query)
        event = AuditEvent("views.save", {"name": name, "query": query})
        views = await self.list()
        _require_free(name, views)
        if len(views) >= MOST_VIEWS:
            problem = f"there are {MOST_VIEWS} saved views already, which is the limit: delete one first"
            raise ConfigError(problem, variable="name", value=name)
        saving = saved_views.save(name, query, self._database.actor.name, MOST_VIEWS)
        view_id = await self._database.act(event, saving)
        if view_id is None:
            raise DuplicateView("another caller has just saved a view: look at the list, and try again")
        return await self.get(view_id)

    async def change(self, which: int | str, *, name: str | None = None, query: str | None = None) -> SavedView:
        """Give a saved view another name, another query, or both.

        Raises ViewNotFound, ConfigError, FilterError, DuplicateView.
        """
        if name is not None:
            _require_view_name(name)
        if query is not None:
            _require_query(query)
        view = await self.get(which)
        if name is not None and name != view.name:
            _require_free(name, await self.list())
        changes = {field: value for field, value in (("new_name", name), ("query", query)) if value is not None}
        event = AuditEvent("views.change", {"id": view.id, "name": view.name, **changes})
        is_changed = await self._database.act(event, saved_views.change(view.id, name, query))
        if is_changed is False:
            raise DuplicateView(f"another caller has just given the name {name!r} to a saved view")
        return await self.get(view.id)

    async def delete(self, which: int | str) -> None:
        """Delete a saved view. Raises ViewNotFound."""
        view = await self.get(which)
        event = AuditEvent("views.delete", {"id": view.id, "name": view.name, "query": view.query})
        await self._database.act(event, saved_views.delete(view.id))


def _require_view_name(name: str) -> None:
    require_name(name)
    if len(name) > LONGEST_NAME:
        problem = f"has {len(name)} characters; at most {LONGEST_NAME} are possible"
        raise ConfigError(problem, variable="name", value=name)


def _require_free(name: str, views: Sequence[SavedView]) -> None:
    if any(view.name == name for view in views):
        raise DuplicateView(f"there is a saved view {name!r} already")


def _require_query(query: str) -> None:
    if not query.strip() or not query.isprintable():
        raise FilterError("a saved query is printable and not empty")
    require_valid_filter(read_query(query))
