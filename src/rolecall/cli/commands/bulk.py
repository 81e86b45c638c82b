"""`rolecall bulk`: retry, cancel or delete all tasks that match a filter, as a stored job."""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.commands.tasks import Rate
from rolecall.cli.filters import with_filter
from rolecall.cli.options import choice_argument
from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration
from rolecall.model.operator.bulk import BulkPreview, StoredBulkAction
from rolecall.model.operator.insight import BulkAction, TaskFilter
from rolecall.model.operator.pages import Page

Action = Annotated[BulkAction, choice_argument(BulkAction, help="The action.")]
Delay = Annotated[
    str, Option(metavar="DURATION", help="Time until it starts, in which `bulk stop` withdraws it: 30, 5m.")
]
Id = Annotated[int, Argument(metavar="ID", help="The id of the bulk action.")]

COLUMNS = ("id", "action", "filter", "state", "done", "total", "outcomes", "by", "created", "finished")


@with_filter
def preview(shell: Shell, which: TaskFilter, action: Action) -> None:
    found = shell.call(lambda services: services.bulk_actions.preview(action, which))
    shell.show(found, lambda: print_preview(found))


@with_filter
def start(shell: Shell, which: TaskFilter, action: Action, *, rate: Rate = None, delay: Delay = "10") -> None:
    seconds = read_duration(delay, "--delay")
    started = shell.call(lambda services: services.bulk_actions.start(action, which, rate=rate, delay=seconds))
    shell.show(started, lambda: print_started(started))


def list_(
    shell: Shell,
    *,
    after: Annotated[
        str | None, Option(metavar="CURSOR", help="The next page, from the output of the previous one.")
    ] = None,
    limit: Annotated[int, Option(help="The most entries to show, 1 to 1000.")] = 50,
) -> None:
    page = shell.call(lambda services: services.bulk_actions.list(after, limit))
    shell.show(page, lambda: _print_page(page))


def show(shell: Shell, bulk_action_id: Id) -> None:
    action = shell.call(lambda services: services.bulk_actions.get(bulk_action_id))
    shell.show(action, lambda: _print_action(action))


def stop(shell: Shell, bulk_action_id: Id) -> None:
    action = shell.call(lambda services: services.bulk_actions.stop(bulk_action_id))
    shell.show(action, lambda: _print_action(action))


def print_preview(found: BulkPreview) -> None:
    """Write how many tasks a bulk action would change."""
    print_facts([(f"would {found.action}", f"{found.number}{'' if found.is_complete else ' or more'}")])
    print_table(("role", "handler", "error group", "tasks"), map(astuple, found.groups), "no tasks")


def print_started(action: StoredBulkAction) -> None:
    """Write when a bulk action starts and how to withdraw it."""
    number = "all matching" if action.total is None else action.total
    print_line(f"bulk action {action.id} will {action.action} {number} tasks from {action.starts_at.isoformat()} on")
    print_line(f"withdraw or stop it: rolecall bulk stop {action.id}")


def _print_page(page: Page[StoredBulkAction]) -> None:
    print_table(COLUMNS, map(_row, page.items), "no bulk actions")
    if page.next_cursor is not None:
        print_line(f"more: --after {page.next_cursor}")


def _row(action: StoredBulkAction) -> tuple[object, ...]:
    what = (action.id, action.action, dict(action.filter), action.state, action.done, action.total)
    return (*what, dict(action.outcomes) or None, action.actor, action.created_at, action.finished_at)


def _print_action(action: StoredBulkAction) -> None:
    print_facts((field.name.replace("_", " "), getattr(action, field.name)) for field in fields(action))
