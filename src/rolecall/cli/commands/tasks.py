"""`rolecall tasks`: list and inspect tasks, retry, cancel, delete or complete them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import astuple, fields, replace
from typing import Annotated

from rich.text import Text
from rich.tree import Tree
from typer import Argument, Option

from rolecall.cli.filters import with_filter
from rolecall.cli.output import print_drawing, print_facts, print_line, print_table, shown
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration, read_json
from rolecall.model.error_text import first_line
from rolecall.model.errors import TaskFinished, TaskNotFound
from rolecall.model.operator.insight import BulkAction, BulkOutcome, TaskFilter
from rolecall.model.operator.pages import Page
from rolecall.model.tasks import Task, TaskSummary, TreeNode
from rolecall.service.services import Services
from rolecall.service.tasks import TaskHistory, require_existing, require_retried

SomeIds = Annotated[list[int] | None, Argument(metavar="[ID]...", help="The ids of the tasks.")]
Limit = Annotated[int, Option(help="With filters: the most tasks to change, newest first.")]
DryRun = Annotated[bool, Option("--dry-run", help="Only show which tasks would be changed.")]
Rate = Annotated[float | None, Option(metavar="NUMBER", help="Retry so many tasks a second, instead of all at once.")]
Ids = Annotated[list[int], Argument(metavar="ID...", help="The ids of the tasks.")]

NEEDS = ("name", "task", "whole chain", "outcome", "result", "error")
ATTEMPTS = ("attempt", "worker", "claimed", "started", "finished", "outcome", "error")
COLUMNS = ("id", "role", "handler", "status", "priority", "key", "attempt", "due", "created", "error")


@with_filter
def list_(
    shell: Shell,
    which: TaskFilter,
    *,
    after: Annotated[
        str | None, Option(metavar="CURSOR", help="The next page, from the output of the previous one.")
    ] = None,
    limit: Annotated[int, Option(help="The most entries to show, 1 to 1000.")] = 50,
) -> None:
    page = shell.call(lambda services: services.tasks.list(replace(which, cursor=after, limit=limit)))
    shell.show(page, lambda: _print_page(page))


def show(shell: Shell, task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")]) -> None:
    history = shell.call(lambda services: services.tasks.show(task_id))
    shell.show(history, lambda: _print_history(history))


def tree(shell: Shell, task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")]) -> None:
    nodes = shell.call(lambda services: services.tasks.tree(task_id))
    shell.show(nodes, lambda: _print_tree(nodes))


@with_filter
def retry(
    shell: Shell,
    which: TaskFilter,
    ids: SomeIds = None,
    *,
    limit: Limit = 1_000,
    rate: Rate = None,
    dry_run: DryRun = False,
) -> None:
    if ids is None or which.conditions() or dry_run or rate is not None:
        _do_to_many(shell, "retry", replace(which, ids=ids), limit, dry_run=dry_run, rate=rate)
        return
    outcomes = shell.call(lambda services: services.tasks.retry(ids))
    _show_outcomes(shell, outcomes)
    require_retried(outcomes)


@with_filter
def cancel(
    shell: Shell, which: TaskFilter, ids: SomeIds = None, *, limit: Limit = 1_000, dry_run: DryRun = False
) -> None:
    if ids is None or which.conditions() or dry_run:
        _do_to_many(shell, "cancel", replace(which, ids=ids), limit, dry_run=dry_run)
        return
    outcomes = shell.call(lambda services: services.tasks.cancel(ids))
    _show_outcomes(shell, outcomes)
    require_existing(outcomes)


@with_filter
def delete(
    shell: Shell, which: TaskFilter, ids: SomeIds = None, *, limit: Limit = 1_000, dry_run: DryRun = False
) -> None:
    if ids is None or which.conditions() or dry_run:
        _do_to_many(shell, "delete", replace(which, ids=ids), limit, dry_run=dry_run)
        return
    outcomes = shell.call(lambda services: services.tasks.delete(ids))
    _show_outcomes(shell, outcomes)
    require_existing(outcomes)


def complete(
    shell: Shell,
    task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")],
    *,
    result: Annotated[str, Option(metavar="JSON", help="Any value, @FILE, or - for stdin.")] = "null",
) -> None:
    value = read_json(result, "result")
    _decide(shell, task_id, lambda services: services.tasks.complete(task_id, value))


def fail(
    shell: Shell,
    task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")],
    *,
    error: Annotated[str, Option(metavar="TEXT", help="The reason.")] = "failed by hand",
) -> None:
    _decide(shell, task_id, lambda services: services.tasks.fail(task_id, error))


def trigger(shell: Shell, ids: Ids) -> None:
    due = shell.call(lambda services: services.tasks.trigger(ids))
    document = [{"id": task_id, "due": moment} for task_id, moment in due.items()]
    shell.show(document, lambda: print_table(("id", "due"), due.items(), "no tasks"))


def token(
    shell: Shell,
    task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")],
    *,
    ttl: Annotated[str, Option(metavar="DURATION", help="Time until it expires: 90, 15m, 4h, 7d.")] = "7d",
) -> None:
    seconds = read_duration(ttl, "--ttl")
    secret = shell.call(lambda services: services.tasks.issue_token(task_id, seconds)).reveal()
    shell.show({"token": secret}, lambda: print_line(secret))


def needs(shell: Shell, task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")]) -> None:
    needed = shell.call(lambda services: services.tasks.needs(task_id))
    rows = (
        (need.name, need.task_id, need.chain, need.outcome or "open", need.result, first_line(need.error))
        for need in needed
    )
    shell.show(needed, lambda: print_table(NEEDS, rows, "no needs"))


def attempts(shell: Shell, task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")]) -> None:
    found = shell.call(lambda services: services.tasks.attempts(task_id))
    shell.show(
        found,
        lambda: print_table(
            ATTEMPTS, (astuple(replace(each, error=first_line(each.error))) for each in found), "not claimed yet"
        ),
    )


def why(shell: Shell, task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")]) -> None:
    answer = shell.call(lambda services: services.tasks.why(task_id))
    rows = ((cause.kind, cause.sentence, cause.change) for cause in answer.causes)
    shell.show(
        answer, lambda: print_table(("what", "why", "what would change it"), rows, "nothing prevents it from running")
    )


def print_task(task: Task) -> None:
    """Write all facts about a task, one per line."""
    print_facts((field.name.replace("_", " "), getattr(task, field.name)) for field in fields(task))


def _do_to_many(
    shell: Shell, action: BulkAction, which: TaskFilter, limit: int, *, dry_run: bool, rate: float | None = None
) -> None:
    done = shell.call(lambda services: services.tasks.bulk(action, which, limit=limit, dry_run=dry_run, rate=rate))
    shell.show(done, lambda: _print_bulk(done))


def _print_bulk(done: BulkOutcome) -> None:
    beyond = " or more" if done.more else ""
    first = [(f"would {done.action}" if done.dry_run else "matched", f"{done.matched}{beyond}")]
    print_facts([*first, *done.outcomes.items(), ("newest", done.ids or None)])


def _print_page(page: Page[TaskSummary]) -> None:
    print_table(COLUMNS, map(_row, page.items), "no tasks")
    if page.next_cursor is not None:
        print_line(f"more: --after {page.next_cursor}")


def _row(task: TaskSummary) -> tuple[object, ...]:
    attempt = f"{task.attempt}/{task.max_attempts}" if task.max_attempts else task.attempt
    what = (task.id, task.role, task.handler, task.status, task.priority, task.key)
    return (*what, attempt, task.scheduled_for, task.created_at, first_line(task.error))


def _print_history(history: TaskHistory) -> None:
    print_task(history.task)
    columns = ("at", "what", "attempt", "worker", "detail")
    print_table(columns, map(astuple, history.timeline), "no history")


def _print_tree(nodes: Sequence[TreeNode]) -> None:
    children: dict[int | None, list[TreeNode]] = {}
    for node in nodes:
        children.setdefault(node.parent_id, []).append(node)
    drawing = Tree(_branch(nodes[0]))
    waiting = [(nodes[0], drawing)]
    while waiting:
        node, branch = waiting.pop()
        waiting.extend((child, branch.add(_branch(child))) for child in children.get(node.id, ()))
    print_drawing(drawing)
    ended = sum(node.state.is_finished for node in nodes)
    print_facts([("ended", f"{ended} of {len(nodes)}")])


def _branch(node: TreeNode) -> Text:
    error = f": {first_line(node.error)}" if node.error else ""
    return Text(shown(f"{node.id} {node.handler} {node.state}{error}"))


def _decide(shell: Shell, task_id: int, decision: Callable[[Services], Awaitable[str]]) -> None:
    try:
        outcome = shell.call(decision)
    except TaskFinished:
        outcome = "finished"
    except TaskNotFound:
        _show_outcomes(shell, {task_id: "missing"})
        raise
    _show_outcomes(shell, {task_id: outcome})


def _show_outcomes(shell: Shell, outcomes: Mapping[int, str]) -> None:
    document = [{"id": task_id, "outcome": outcome} for task_id, outcome in outcomes.items()]
    shell.show(document, lambda: print_table(("id", "outcome"), outcomes.items(), "no tasks"))
