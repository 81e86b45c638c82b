"""A read-only view of Rolecall in Django's admin, for users with the permission to view its models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db import connections
from django.utils.html import format_html

from rolecall.django.connections import database_alias
from rolecall.django.models import Schedule, Task, Worker
from rolecall.django.options import options
from rolecall.django.project import client
from rolecall.model.errors import RolecallError
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.states import TaskState
from rolecall.service.redaction import Redactions, redactions_of
from rolecall.sql import finding, roles

# There can be millions of tasks. The list shows only the latest ones, on as many pages as they need.
LISTED = 1_000
LONGEST_SHOWN = 64 * 1024
HIGHEST_ID = 2**53


class ReadOnlyAdmin(admin.ModelAdmin):
    """Read-only rows. Django's view permission applies."""

    actions = None
    list_per_page = 50
    show_full_result_count = False
    place = ""

    def has_add_permission(self, request: Any) -> bool:  # noqa: ARG002 - for all users
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:  # noqa: ARG002 - for all users
        return False

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:  # noqa: ARG002 - for all users
        return False

    def get_fields(self, request: Any, obj: Any = None) -> Sequence[str]:
        """Return all fields, and the link to the dashboard if its address is configured."""
        link = ["dashboard"] if options().dashboard else []
        return [*link, *super().get_fields(request, obj)]

    def get_readonly_fields(self, request: Any, obj: Any = None) -> Sequence[str]:  # noqa: ARG002 - for all rows
        """Return the link, which is not a model field."""
        return ["dashboard"]

    @admin.display(description="dashboard page")
    def dashboard(self, row: Any) -> str:
        """Return a link to the row's page on the dashboard."""
        address = f"{(options().dashboard or '').rstrip('/')}/{self.place}/{row.pk}"
        return str(format_html('<a href="{}">{}</a>', address, address))


class Condition(admin.SimpleListFilter):
    """A filter of `TaskAdmin`."""

    def queryset(self, request: Any, queryset: Any) -> Any:  # noqa: ARG002 - applied by TaskAdmin
        """Return all rows, because `TaskAdmin` applies the filter itself."""
        return queryset


class OfState(Condition):
    """Filters by state."""

    title = parameter_name = "state"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the same for all
        return [(state.value, state.value) for state in TaskState]


class NamedCondition(Condition):
    """Filters by role or handler. There are few of these, even with many tasks."""

    query = ""

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the same for all
        with connections[database_alias()].cursor() as cursor:
            cursor.execute(self.query)
            return [(name, name) for (name,) in cursor.fetchall()]


class OfRole(NamedCondition):
    """Filters by role."""

    title = parameter_name = "role"
    query = "select name from rolecall.roles order by name"


class OfHandler(NamedCondition):
    """Filters by handler."""

    title = parameter_name = "handler"
    query = "select name from rolecall.handlers order by name"


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin):
    """Tasks, latest first."""

    place = "tasks"
    list_display = ("id", "handler", "role", "status", "attempt", "key", "created_at", "finished_at")
    list_filter = (OfState, OfRole, OfHandler)
    search_fields = ("id", "key")
    search_help_text = "an id or a key"
    exclude = ("payload", "result", "info")
    readonly_fields = ("payload_text", "result_text", "info_text")

    def get_queryset(self, request: Any) -> Any:
        """Return the rows. In the list, apply the filters and defer columns that can contain megabytes."""
        rows = super().get_queryset(request)
        if not request.resolver_match.url_name.endswith("_changelist"):
            return rows
        return rows.filter(pk__in=_find_ids(request.GET)).defer("payload", "result", "info")

    def get_search_results(self, request: Any, queryset: Any, search_term: str) -> tuple[Any, bool]:  # noqa: ARG002 - applied by get_queryset
        """Return the rows: the filters include the search."""
        return queryset, False

    def get_readonly_fields(self, request: Any, obj: Any = None) -> Sequence[str]:
        """Return the link and the documents as text."""
        return [*super().get_readonly_fields(request, obj), *self.readonly_fields]

    @admin.display(description="payload")
    def payload_text(self, task: Task) -> str:
        return _document(_read_redactions(task.handler).payload(task.handler, task.payload))

    @admin.display(description="result")
    def result_text(self, task: Task) -> str:
        return _document(_read_redactions(task.handler).result(task.handler, task.result))

    @admin.display(description="info")
    def info_text(self, task: Task) -> str:
        return _document(task.info)


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    """Schedules by name."""

    place = "schedules"
    list_display = ("name", "handler", "role", "every", "cron", "enabled", "next_run_at", "last_run_at")
    list_filter = ("enabled",)
    search_fields = ("name",)
    exclude = ("payload",)

    def get_readonly_fields(self, request: Any, obj: Any = None) -> Sequence[str]:
        """Return the link and the payload as text."""
        return [*super().get_readonly_fields(request, obj), "payload_text"]

    @admin.display(description="payload")
    def payload_text(self, schedule: Schedule) -> str:
        return _document(_read_redactions(schedule.handler).payload(schedule.handler, schedule.payload))


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Workers, latest heartbeat first."""

    place = "admin/workers"
    list_display = ("id", "name", "state", "slots", "held", "host", "version", "heartbeat_at")


def _find_ids(query: Mapping[str, str]) -> list[int]:
    """Find the latest tasks with Rolecall's own search, which reads only the needed rows. Invalid input finds none."""
    conditions: dict[str, Any] = {word: query[word] for word in ("state", "role", "handler") if query.get(word)}
    term = query.get("q", "").strip()
    alternatives: list[dict[str, Any]] = [{}]
    if term:
        is_id = term.isascii() and term.isdecimal() and int(term) < HIGHEST_ID
        alternatives = [{"key": term}, *([{"ids": [int(term)]}] if is_id else [])]
    try:
        return [
            found
            for words in alternatives
            for found in client.ask(finding.ids(TaskFilter(**conditions, **words, limit=LISTED)))[0]
        ]
    except RolecallError:
        return []


def _read_redactions(handler: str | None) -> Redactions:
    return redactions_of(client.ask(roles.hiding_schemas({handler} if handler else set())))


def _document(value: object) -> str:
    if value is None:
        return "-"
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return str(format_html("<pre>{}</pre>", f"{text[:LONGEST_SHOWN]} ..." if len(text) > LONGEST_SHOWN else text))
