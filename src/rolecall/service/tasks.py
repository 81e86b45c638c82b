"""Tasks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from typing import Any, cast

from rolecall.client.polling import pauses, poll_until_async
from rolecall.model.audit import AuditEvent
from rolecall.model.errors import (
    NoFilter,
    TaskFinished,
    TaskNotFound,
    TaskNotRetryable,
    UnknownRole,
    WaitTimeout,
)
from rolecall.model.operator.access import Secret
from rolecall.model.operator.causes import causes_of
from rolecall.model.operator.details import TaskDetail
from rolecall.model.operator.insight import Attempt, BulkAction, BulkOutcome, TaskFilter, TimelineEntry
from rolecall.model.operator.logs import LogFilter, LogLine, StackOutcome, StackReport
from rolecall.model.operator.pages import Page
from rolecall.model.operator.why import Why
from rolecall.model.states import TaskState
from rolecall.model.tasks import Enqueued, Needed, NewTask, Task, TaskSummary, TreeNode
from rolecall.service.arguments import (
    LONGEST_PAGE,
    require_between,
    require_page,
    require_rate,
    require_valid_filter,
    with_suggestion,
)
from rolecall.service.database import Database
from rolecall.service.handoff import Handoff
from rolecall.service.redaction import redact_needs, redact_tasks, require_complete
from rolecall.service.trees import gather
from rolecall.sql import bulk_actions, details, enqueue, finding, insight, logs, outside, structure, tasks, why
from rolecall.sql.statement import Statement

BATCH = 1_000
MOST_AT_ONCE = 100_000
MOST_NAMED = 100
# A list searches for this long until its page is full.
SEARCH_SECONDS = 2.0
# A worker usually answers a request for a stack within a tenth of a second, with a blocked loop within two.
STACK_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHistory:
    """A task and its timeline, oldest first."""

    task: Task
    timeline: list[TimelineEntry]


class Tasks:
    """The tasks of the pool."""

    def __init__(self, database: Database, handoff: Handoff | None = None) -> None:
        self._database = database
        self._handoff = handoff

    async def enqueue(self, task: NewTask, trace_context: str | None = None) -> Enqueued:
        """Store one task with a trace context. Raises InvalidTask, and UnknownRole with a suggestion."""
        [enqueued] = await self.enqueue_many([task], trace_context)
        return enqueued

    async def enqueue_many(self, batch: Sequence[NewTask], trace_context: str | None = None) -> list[Enqueued]:
        """Store a batch with a trace context, all or none.

        Raises InvalidTask, UnknownRole with a suggestion, and InvalidPayload for a payload that contains `[redacted]`
        or a pointer.
        """
        await require_complete(self._database, batch)
        try:
            return await self._database.act(_enqueue_event(batch), enqueue.enqueue_many(batch, trace_context))
        except UnknownRole as error:
            names = [task.role or task.handler for task in batch]
            raise await with_suggestion(error, self._database, names) from error

    async def tree(self, root_id: int) -> Sequence[TreeNode]:
        """Return a task and everything below it, level by level. Raises TaskNotFound."""
        nodes = await self._database.run(structure.tree(root_id))
        if not nodes:
            raise TaskNotFound(task_id=root_id)
        return nodes

    async def list(self, which: TaskFilter) -> Page[TaskSummary]:
        """List tasks, newest first, without payloads and results. Raises ConfigError, InvalidCursor.

        The search for the page's tasks takes about two seconds at most; `examined_since` returns how far it came.
        """
        require_page(which.limit)
        require_valid_filter(which)
        end = monotonic() + SEARCH_SECONDS
        page = await self._database.run(finding.tasks(which))
        while page.next_cursor is not None and len(page.items) < which.limit and monotonic() < end:
            rest = replace(which, cursor=page.next_cursor, limit=which.limit - len(page.items))
            more = await self._database.run(finding.tasks(rest))
            page = Page(items=page.items + more.items, next_cursor=more.next_cursor)
        return page

    async def examined_since(self, cursor: str) -> datetime | None:
        """Return when the oldest task before the next page was created; None if there is none. Raises InvalidCursor."""
        return await self._database.run(finding.created_from(cursor))

    async def bulk(
        self,
        action: BulkAction,
        which: TaskFilter,
        *,
        limit: int = BATCH,
        dry_run: bool = False,
        rate: float | None = None,
    ) -> BulkOutcome:
        """Retry, cancel or delete up to `limit` of the newest tasks that match, one batch per transaction.

        With a `rate`, so many of the retried tasks are due each second instead of all at once. The outcomes are those
        of `retry`, `cancel` and `delete`. Raises NoFilter, ConfigError, InvalidCursor.
        """
        _require_bulk(which, limit)
        require_rate(action, rate)
        require_valid_filter(which)
        ids, more = await _find(self._database, which, limit)
        detail = {"which": which.conditions(), "limit": limit, **({} if rate is None else {"rate": rate})}
        outcomes = {} if dry_run else await self._act(action, ids, detail, rate)
        return BulkOutcome(
            action=action,
            dry_run=dry_run,
            matched=len(ids),
            more=more,
            outcomes=Counter(outcomes.values()),
            ids=ids[:MOST_NAMED],
        )

    async def get(self, task_id: int) -> Task:
        """Return one task, open or finished. Raises TaskNotFound."""
        [task] = await redact_tasks(self._database, [await self._database.run(tasks.get(task_id))])
        return task

    async def show(self, task_id: int) -> TaskHistory:
        """Return one task with its timeline. Raises TaskNotFound."""
        task = await self.get(task_id)
        return TaskHistory(task=task, timeline=await self._database.run(insight.timeline(task_id)))

    async def attempts(self, task_id: int) -> Sequence[Attempt]:
        """List the claims of a task, oldest first. Raises TaskNotFound."""
        await self.get(task_id)
        return await self._database.run(insight.attempts(task_id))

    async def logs(self, task_id: int, which: LogFilter) -> Page[LogLine]:
        """Return log lines of a task's attempts, oldest first. Raises TaskNotFound, ConfigError, InvalidCursor.

        The last page has a cursor as well, with which the lines that are logged later can be read.
        """
        require_page(which.limit)
        await self._database.run(tasks.get(task_id))
        return await self._database.run(logs.lines(task_id, which))

    async def request_stack(self, task_id: int) -> StackReport:
        """Ask the worker of a running task for its handler's stack, and wait up to two seconds. Raises TaskNotFound."""
        event = AuditEvent("tasks.stack", {"id": task_id})
        outcome = await self._database.act(event, logs.request_stack(task_id))
        require_existing({task_id: outcome})
        if outcome == "not_running":
            return StackReport(task_id=task_id, outcome="not_running")
        deadline = monotonic() + STACK_SECONDS
        for pause in pauses():
            report = await self.stack(task_id)
            if report.outcome != "requested" or monotonic() > deadline:
                break
            await asyncio.sleep(pause)
        return report

    async def stack(self, task_id: int) -> StackReport:
        """Return the latest stack of a task's handler that somebody requested. Raises TaskNotFound."""
        latest = await self._database.run(logs.latest_stack(task_id))
        if latest is None:
            await self._database.run(tasks.get(task_id))
            return StackReport(task_id=task_id, outcome="not_requested")
        outcome: StackOutcome = "requested" if latest.stack is None else "answered"
        return StackReport(task_id=task_id, outcome=outcome, attempt=latest.attempt, at=latest.at, stack=latest.stack)

    async def detail(self, task_id: int, *, most: int, children_from: str | None = None) -> TaskDetail:
        """Return one task with everything related to it. A payload or result over `most` bytes is left out.

        `children_from` is the cursor of a page of its children. Raises TaskNotFound, InvalidCursor.
        """
        return await gather(self._database, task_id, most, children_from)

    async def parents_among(self, ids: Sequence[int]) -> frozenset[int]:
        """Return which of these tasks have children."""
        return await self._database.run(details.parents_among(ids))

    async def why(self, task_id: int) -> Why:
        """Return all causes why a task does not run, and what would change them. Raises TaskNotFound."""
        situation = await self._database.run(why.situation(task_id))
        if situation is None:
            raise TaskNotFound(task_id=task_id)
        causes = causes_of(situation)
        if self._handoff is not None and situation.state is TaskState.PENDING:
            handoff_cause = await self._handoff.handoff_cause(task_id, situation.role)
            causes = [*causes, handoff_cause] if handoff_cause else causes
        return Why(task_id=task_id, state=situation.state, at=situation.at, causes=causes)

    async def wait(self, task_id: int, seconds: float) -> Task:
        """Return the task once it has finished. Raises WaitTimeout, TaskNotFound."""
        late = WaitTimeout(task_id=task_id, seconds=seconds)
        return await poll_until_async(lambda: self.get(task_id), lambda task: task.is_finished, late)

    async def retry(self, ids: Iterable[int]) -> dict[int, str]:
        """Retry failed and cancelled tasks. Return for each id: pending, open, completed, duplicate or missing."""
        return await self._act("retry", ids)

    async def retry_one(self, task_id: int) -> str:
        """Retry a failed or cancelled task. Return "pending". Raises TaskNotFound, TaskNotRetryable."""
        outcomes = await self.retry([task_id])
        require_retried(outcomes)
        return outcomes[task_id]

    async def cancel(self, ids: Iterable[int]) -> dict[int, str]:
        """Cancel tasks. Return for each id: cancelled, requested (it was running), finished or missing."""
        return await self._act("cancel", ids)

    async def cancel_one(self, task_id: int) -> str:
        """Cancel a task. Return "cancelled", or "requested" if it was running. Raises TaskNotFound, TaskFinished."""
        return _require_open(task_id, (await self.cancel([task_id]))[task_id])

    async def delete(self, ids: Iterable[int]) -> dict[int, str]:
        """Delete tasks with their chains and everything below. Return for each id: deleted, continued, needed or
        missing.

        A chain is deleted by its last task. It remains if its task has `continued`, or if an open task needs it or
        waits for it.
        """
        return await self._act("delete", ids)

    async def delete_one(self, task_id: int) -> int:
        """Delete a task that is a whole chain, including everything below it. Return the number of deleted tasks.

        Raises TaskNotFound, ChainLonger, ChainNeeded.
        """
        event = AuditEvent("tasks.delete", {"id": task_id})
        return await self._database.act(event, tasks.delete_one(task_id), tasks.kinds([task_id]))

    async def complete(self, task_id: int, result: object = None) -> str:
        """Complete a task without a worker. Return "completed". Raises InvalidTask, TaskNotFound, TaskFinished."""
        event = AuditEvent("tasks.complete", {"id": task_id})
        return await self._act_on_one(event, outside.complete(task_id, result), task_id)

    async def fail(self, task_id: int, error: str) -> str:
        """Fail a task permanently without a worker. Return "failed". Raises TaskNotFound, TaskFinished."""
        event = AuditEvent("tasks.fail", {"id": task_id, "error": error})
        return await self._act_on_one(event, outside.fail(task_id, error), task_id)

    async def trigger(self, ids: Iterable[int]) -> dict[int, datetime]:
        """Make pending tasks due now, all or none. Raises TaskNotFound, TaskNotTriggerable."""
        task_ids = list(ids)
        statement = outside.trigger(task_ids, self._database.actor.name)
        return await self._database.act(AuditEvent("tasks.trigger", {"ids": task_ids}), statement)

    async def issue_token(self, task_id: int, seconds: float = outside.TOKEN_TTL) -> Secret:
        """Create a completion token for a task. Raises TaskNotFound, InvalidTask."""
        statement = outside.issue_token(task_id, seconds)
        # The result is recorded in the audit log, so it must not contain the token.
        hidden = replace(cast("Statement[Any]", statement), read=lambda rows: Secret(statement.read(rows)))
        return cast(
            "Secret", await self._database.act(AuditEvent("tasks.token", {"id": task_id, "seconds": seconds}), hidden)
        )

    async def complete_by_token(self, token: str, result: object = None) -> int:
        """Complete the task of the token and return its id. Raises InvalidToken, InvalidTask."""
        return await self._database.act(AuditEvent("tasks.complete_by_token"), outside.complete_by_token(token, result))

    async def fail_by_token(self, token: str, error: str) -> int:
        """Fail the task of the token permanently and return its id. Raises InvalidToken."""
        return await self._database.act(
            AuditEvent("tasks.fail_by_token", {"error": error}), outside.fail_by_token(token, error)
        )

    async def needs(self, task_id: int) -> Sequence[Needed]:
        """List the needs of a task with their outcomes, in the order of declaration. Raises TaskNotFound."""
        await self.get(task_id)
        needs = await self._database.run(structure.needs(task_id))
        return await redact_needs(self._database, needs)

    async def _act_on_one(self, event: AuditEvent, statement: Statement[str], task_id: int) -> str:
        kind = event.action.removeprefix("tasks.")
        noted = outside.noted(statement, task_id, kind, self._database.actor.name)
        return _require_open(task_id, await self._database.act(event, noted))

    async def _act(
        self,
        action: BulkAction,
        ids: Iterable[int],
        detail: Mapping[str, object] | None = None,
        rate: float | None = None,
    ) -> dict[int, str]:
        distinct = list(dict.fromkeys(ids))
        outcomes: dict[int, str] = {}
        for first in range(0, len(distinct), BATCH):
            batch = distinct[first : first + BATCH]
            delays = None if rate is None else [(first + turn) / rate for turn in range(len(batch))]
            was = tasks.kinds(batch) if action == "delete" else None
            statement = bulk_actions.act(action, batch, self._database.actor.name, delays)
            event = AuditEvent(f"tasks.{action}", detail or {"ids": batch})
            changed = await self._database.act(event, statement, was)
            outcomes |= changed
        return {task_id: outcomes[task_id] for task_id in distinct}


def require_existing(outcomes: Mapping[int, str]) -> None:
    """Raise TaskNotFound for the first task that is missing."""
    for task_id, outcome in outcomes.items():
        if outcome == "missing":
            raise TaskNotFound(task_id=task_id)


def require_retried(outcomes: Mapping[int, str]) -> None:
    """Raise TaskNotFound or TaskNotRetryable for the first task that is not pending again."""
    require_existing(outcomes)
    for task_id, outcome in outcomes.items():
        if outcome != "pending":
            raise TaskNotRetryable(task_id=task_id, outcome=outcome)


def _require_open(task_id: int, outcome: str) -> str:
    require_existing({task_id: outcome})
    if outcome == "finished":
        raise TaskFinished(task_id=task_id)
    return outcome


async def _find(database: Database, which: TaskFilter, limit: int) -> tuple[list[int], bool]:
    found: list[int] = []
    cursor = which.cursor
    while len(found) < limit:
        page = replace(which, cursor=cursor, limit=min(limit - len(found), LONGEST_PAGE))
        ids, cursor = await database.run(finding.ids(page))
        found += ids
        if cursor is None:
            return found, False
    return found, True


def _require_bulk(which: TaskFilter, limit: int) -> None:
    if not which.conditions():
        raise NoFilter
    require_between("limit", limit, 1, MOST_AT_ONCE)


def _enqueue_event(batch: Sequence[NewTask]) -> AuditEvent:
    handlers = sorted({task.handler for task in batch if task.handler})
    return AuditEvent("tasks.enqueue", {"handlers": handlers, "number": len(batch)})
