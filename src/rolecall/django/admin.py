"""The pool in Django's admin, to be looked at: who may view its models sees them, and nobody changes anything there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db import connections
from django.utils.html import format_html

from rolecall.django.connections import alias_of_pool
from rolecall.django.models import Schedule, Task, Worker
from rolecall.django.options import options
from rolecall.django.project import client
from rolecall.model.errors import RolecallError
from rolecall.model.insight import TaskFilter
from rolecall.model.states import TaskState
from rolecall.service.redaction import Redactions, redactions_of
from rolecall.sql import finding, roles

__all__ = ["ScheduleAdmin", "TaskAdmin", "WorkerAdmin"]

# A pool may hold millions of tasks: the list has the latest so many, and no more pages than they fill.
LISTED = 1_000
LONGEST_SHOWN = 64 * 1024
HIGHEST_ID = 2**53


class OnlyToLookAt(admin.ModelAdmin):
    """Rows that are neither added, changed nor deleted here; who may view them is Django's permission."""

    actions = None
    list_per_page = 50
    show_full_result_count = False
    place = ""

    def has_add_permission(self, request: Any) -> bool:  # noqa: ARG002 - nobody may
        """Refuse."""
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:  # noqa: ARG002 - nobody may
        """Refuse."""
        return False

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:  # noqa: ARG002 - nobody may
        """Refuse."""
        return False

    def get_fields(self, request: Any, obj: Any = None) -> Sequence[str]:
        """Return all fields, and the link to the dashboard where its address is known."""
        link = ["dashboard"] if options().dashboard else []
        return [*link, *super().get_fields(request, obj)]

    def get_readonly_fields(self, request: Any, obj: Any = None) -> Sequence[str]:  # noqa: ARG002 - of whatever row
        """Return the link, which is no field."""
        return ["dashboard"]

    @admin.display(description="in the dashboard")
    def dashboard(self, row: Any) -> str:
        """Link to the row's page there."""
        address = f"{(options().dashboard or '').rstrip('/')}/{self.place}/{row.pk}"
        return str(format_html('<a href="{}">{}</a>', address, address))


class Condition(admin.SimpleListFilter):
    """A choice by which `TaskAdmin` finds tasks."""

    def queryset(self, request: Any, queryset: Any) -> Any:  # noqa: ARG002 - it was found by it
        """Return what was found."""
        return queryset


class OfState(Condition):
    """The tasks in a state."""

    title = parameter_name = "state"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the same for all
        """List the states."""
        return [(state.value, state.value) for state in TaskState]


class Named(Condition):
    """The tasks of one of the roles or handlers, which are few where tasks are many."""

    query = ""

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the same for all
        """List those that are known."""
        with connections[alias_of_pool()].cursor() as cursor:
            cursor.execute(self.query)
            return [(name, name) for (name,) in cursor.fetchall()]


class OfRole(Named):
    """The tasks of a role."""

    title = parameter_name = "role"
    query = "select name from rolecall.roles order by name"


class OfHandler(Named):
    """The tasks of a handler."""

    title = parameter_name = "handler"
    query = "select name from rolecall.handlers order by name"


@admin.register(Task)
class TaskAdmin(OnlyToLookAt):
    """Tasks, the latest first."""

    place = "tasks"
    list_display = ("id", "handler", "role", "status", "attempt", "key", "created_at", "finished_at")
    list_filter = (OfState, OfRole, OfHandler)
    search_fields = ("id", "key")
    search_help_text = "an id, or a key"
    exclude = ("payload", "result", "info")
    readonly_fields = ("given", "returned", "told")

    def get_queryset(self, request: Any) -> Any:
        """Return the rows; for the list those that are asked for, without what can be megabytes."""
        rows = super().get_queryset(request)
        if not request.resolver_match.url_name.endswith("_changelist"):
            return rows
        return rows.filter(pk__in=_found(request.GET)).defer("payload", "result", "info")

    def get_search_results(self, request: Any, queryset: Any, search_term: str) -> tuple[Any, bool]:  # noqa: ARG002 - found by it
        """Return what was found."""
        return queryset, False

    def get_readonly_fields(self, request: Any, obj: Any = None) -> Sequence[str]:
        """Return the documents, as text, beside the link."""
        return [*super().get_readonly_fields(request, obj), *self.readonly_fields]

    @admin.display(description="payload")
    def given(self, task: Task) -> str:
        """Show what the task was given."""
        return _document(_shown(task.handler).payload(task.handler, task.payload))

    @admin.display(description="result")
    def returned(self, task: Task) -> str:
        """Show what its handler returned."""
        return _document(_shown(task.handler).result(task.handler, task.result))

    @admin.display(description="info")
    def told(self, task: Task) -> str:
        """Show what its handler told while it ran."""
        return _document(task.info)


@admin.register(Schedule)
class ScheduleAdmin(OnlyToLookAt):
    """Schedules by name."""

    place = "schedules"
    list_display = ("name", "handler", "role", "every", "cron", "enabled", "next_run_at", "last_run_at")
    list_filter = ("enabled",)
    search_fields = ("name",)
    exclude = ("payload",)

    def get_readonly_fields(self, request: Any, obj: Any = None) -> Sequence[str]:
        """Return the payload, as text, beside the link."""
        return [*super().get_readonly_fields(request, obj), "given"]

    @admin.display(description="payload")
    def given(self, schedule: Schedule) -> str:
        """Show what its tasks are given."""
        return _document(_shown(schedule.handler).payload(schedule.handler, schedule.payload))


@admin.register(Worker)
class WorkerAdmin(OnlyToLookAt):
    """Workers, the last heard of first."""

    place = "admin/workers"
    list_display = ("id", "name", "state", "slots", "held", "host", "version", "heartbeat_at")


def _found(asked: Mapping[str, str]) -> list[int]:
    """Find the latest tasks by the engine's own search, which reads no more than it needs; of nonsense none."""
    said: dict[str, Any] = {word: asked[word] for word in ("state", "role", "handler") if asked.get(word)}
    term = asked.get("q", "").strip()
    wanted: list[dict[str, Any]] = [{}]
    if term:
        is_id = term.isascii() and term.isdecimal() and int(term) < HIGHEST_ID
        wanted = [{"key": term}, *([{"ids": [int(term)]}] if is_id else [])]
    try:
        return [
            found for words in wanted for found in client.ask(finding.ids(TaskFilter(**said, **words, limit=LISTED)))[0]
        ]
    except RolecallError:
        return []


def _shown(handler: str | None) -> Redactions:
    return redactions_of(client.ask(roles.hiding_schemas({handler} if handler else set())))


def _document(value: object) -> str:
    if value is None:
        return "-"
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return str(format_html("<pre>{}</pre>", f"{text[:LONGEST_SHOWN]} ..." if len(text) > LONGEST_SHOWN else text))
