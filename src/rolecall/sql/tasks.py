"""Typed calls about tasks: enqueue, claim, everything a claim's owner may do, cancel, retry, read."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, starmap
from typing import Any

from rolecall.model.errors import InvalidTask, TaskNotFound
from rolecall.model.outcomes import Report
from rolecall.model.states import TaskState
from rolecall.model.tasks import ClaimedTask, Enqueued, NewTask, Task, TaskSummary
from rolecall.sql.documents import NotStorable, encode, read_result, reports_document, tasks_document
from rolecall.sql.statement import (
    Readers,
    Row,
    Statement,
    by_first_column,
    columns_of,
    firsts,
    from_json,
    reader_of,
    single,
)

__all__ = [
    "SUMMARY_COLUMNS",
    "TASK_COLUMNS",
    "cancel",
    "claim",
    "claim_what_fits",
    "delete",
    "delete_one",
    "ended_among",
    "enqueue_chunks",
    "enqueue_many",
    "finish",
    "finish_free",
    "finish_here",
    "get",
    "is_work_left",
    "kinds",
    "kinds_of_chains",
    "lost",
    "next_due",
    "read_summary",
    "read_task",
    "release",
    "renew",
    "report_info",
    "rescue",
    "rescue_workers",
    "retry",
    "start",
]

CHUNK = 20_000
MOST_KINDS = 12

READERS: Readers = {"state": TaskState, "info": from_json, "payload": from_json, "result": read_result}
SUMMARY_COLUMNS = columns_of(TaskSummary, READERS, "task")
TASK_COLUMNS = columns_of(Task, READERS)
# `payload::text` keeps the driver from decoding JSON, whatever loaders the connection has.
CLAIM_COLUMNS = (
    "id, fence, attempt, coalesce(max_attempts, 0), role, handler, priority, payload::text, key, chain_id, "
    "chain_index, scheduled_for, created_at, lease_seconds, timeout_seconds, step, parent_id, last_error"
)
HELD_BACK = "current_setting('rolecall.held_back', true)"
CLAIM_PARAMS = "%s::bigint, %s::text[], %s::text[], %s::int, %s::int"
OWNED = "%s::bigint, %s::bigint[], %s::int[]"

read_summary = reader_of(TaskSummary, READERS)
read_task = reader_of(Task, READERS)


def enqueue_many(tasks: Sequence[NewTask]) -> Statement[list[Enqueued]]:
    """Store a batch, all or nothing; the answers come in the order of the tasks."""
    return Statement(
        query="select ids, deduplicated from rolecall.enqueue_many(%s::jsonb)",
        params=(tasks_document(tasks),),
        read=_read_enqueued,
    )


def enqueue_chunks(tasks: Iterable[NewTask], *, size: int = CHUNK) -> list[Statement[list[Enqueued]]]:
    """Store a batch of any length in several statements; run them in one transaction.

    Everything is checked before the first statement exists, so that nothing is sent of a batch that is wrong.
    """
    remaining = iter(tasks)
    statements: list[Statement[list[Enqueued]]] = []
    while chunk := list(islice(remaining, size)):
        try:
            statements.append(enqueue_many(chunk))
        except InvalidTask as error:
            raise error.moved_by(len(statements) * size) from error
    return statements


def claim(
    worker_id: int, roles: Sequence[str], handlers: Sequence[str], limit: int, start: int | None = None
) -> Statement[list[ClaimedTask]]:
    """Take up to `limit` tasks, best first; no roles means every role.

    The first `start` of them are marked started (None: all of them), the rest are prefetched.
    """
    return Statement(
        query=f"select {CLAIM_COLUMNS} from rolecall.claim({CLAIM_PARAMS})",
        params=(worker_id, list(roles), list(handlers), limit, start),
        read=_read_claimed,
    )


def claim_what_fits(
    worker_id: int, roles: Sequence[str], handlers: Sequence[str], limit: int, start: int
) -> Statement[tuple[list[ClaimedTask], bool]]:
    """Take tasks as `claim` does; the answer also says whether the next one in line waits for a free slot."""
    return Statement(
        query=f"select {CLAIM_COLUMNS}, {HELD_BACK} from rolecall.claim({CLAIM_PARAMS})",
        params=(worker_id, list(roles), list(handlers), limit, start),
        read=_read_claim,
    )


def start(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Mark prefetched tasks as started; the answer names the lost ones with the reason."""
    return _about_claims("start", worker_id, claims)


def renew(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Extend the leases; the answer names the tasks whose handlers must be aborted, with the reason."""
    return _about_claims("renew", worker_id, claims)


def lost(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Ask which claims are lost, with the reason; nothing is written."""
    return _about_claims("lost_claims", worker_id, claims)


def release(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Give tasks back without spending an attempt; the answer names those that were lost already."""
    return _about_claims("release", worker_id, claims)


def finish(worker_id: int, reports: Iterable[Report]) -> Statement[dict[int, str]]:
    """Finish a batch of claims, all or nothing; the answer names those that were not simply accepted."""
    return Statement(
        query="select task_id, verdict from rolecall.finish(%s::bigint, %s::jsonb)",
        params=(worker_id, reports_document(reports)),
        read=by_first_column,
    )


def finish_free(worker_id: int, reports: Iterable[Report], *, apart: bool = False) -> Statement[dict[int, str]]:
    """Finish claims as `finish` does, without waiting for anybody's open transaction.

    Of what the answer names as `busy` nothing is stored: it is to be sent again, and `apart` then.
    """
    return Statement(
        query="select task_id, verdict from rolecall.finish_free(%s::bigint, %s::jsonb, %s::boolean)",
        params=(worker_id, reports_document(reports), apart),
        read=by_first_column,
    )


def finish_here(worker_id: int, reports: Iterable[Report]) -> Statement[dict[int, str]]:
    """Finish claims in a transaction that writes more; what the answer names was not accepted: undo the transaction."""
    return Statement(
        query="select task_id, verdict from rolecall.finish_here(%s::bigint, %s::jsonb)",
        params=(worker_id, reports_document(reports)),
        read=by_first_column,
    )


def report_info(worker_id: int, task_id: int, fence: int, info: Mapping[str, object]) -> Statement[str | None]:
    """Merge facts into a running task's info; the answer is None, or why the claim is lost."""
    try:
        document = encode(dict(info))
    except NotStorable as error:
        raise InvalidTask(f"info: {error}") from error
    return Statement(
        query="select rolecall.report_info(%s::bigint, %s::bigint, %s::int, %s::jsonb)",
        params=(worker_id, task_id, fence, document),
        read=single,
    )


def rescue(limit: int = 1000, silent_for: float = 0.0) -> Statement[dict[int, TaskState]]:
    """Release what expired owners have not renewed for so many seconds; the answer says what became of each task."""
    return Statement(
        query="select task_id, state::text from rolecall.rescue(%s::int, make_interval(secs => %s::float8))",
        params=(limit, silent_for),
        read=_read_states,
    )


def rescue_workers(worker_ids: Sequence[int], limit: int = 1000) -> Statement[dict[int, TaskState]]:
    """Release what workers hold that are known to be dead, and take them off the roll; the answer says what became of
    each task.
    """
    return Statement(
        query="select task_id, state::text from rolecall.rescue_workers(%s::bigint[], %s::int)",
        params=(list(worker_ids), limit),
        read=_read_states,
    )


def cancel(ids: Iterable[int]) -> Statement[dict[int, str]]:
    """Cancel tasks; each is cancelled, requested (it was running), finished or missing."""
    return _about_ids("cancel", ids)


def retry(ids: Iterable[int]) -> Statement[dict[int, str]]:
    """Put failed and cancelled tasks back; each is pending, open, completed, duplicate or missing."""
    return _about_ids("retry", ids)


def kinds(ids: Sequence[int]) -> Statement[list[dict[str, Any]]]:
    """Ask how many of these tasks there are of each role, handler and state; of what is rarest, nothing."""
    return _kinds("unnest(%s::bigint[])", ids)


def kinds_of_chains(chain_ids: Sequence[int]) -> Statement[list[dict[str, Any]]]:
    """Ask the same about the tasks of these chains."""
    return _kinds("unnest(%s::bigint[]) as chain (id) cross join lateral rolecall.tasks_of_chain(chain.id)", chain_ids)


def delete(ids: Iterable[int]) -> Statement[dict[int, str]]:
    """Delete tasks with their chains and all below; each is deleted, continued, needed or missing."""
    return _about_ids("delete_tasks", ids)


def delete_one(task_id: int) -> Statement[int]:
    """Delete a task that is the whole of its chain; the answer is how many tasks are gone with it.

    Raises TaskNotFound, ChainLonger, ChainNeeded.
    """
    return Statement(query="select rolecall.delete_task(%s::bigint)", params=(task_id,), read=single)


def _kinds(given: str, ids: Sequence[int]) -> Statement[list[dict[str, Any]]]:
    return Statement(
        query=f"select task.role, task.handler, task.state::text, count(*) from {given} as given (id)"
        # Each by its id: a join might read all tasks.
        " cross join lateral (select * from rolecall.all_tasks as one where one.id = given.id offset 0) as task"
        " group by 1, 2, 3 order by 4 desc, 1, 2, 3 limit %s::int",
        params=(list(ids), MOST_KINDS),
        read=lambda rows: [dict(zip(("role", "handler", "state", "tasks"), row, strict=True)) for row in rows],
    )


def is_work_left(worker_id: int, roles: Sequence[str], handlers: Sequence[str]) -> Statement[bool]:
    """Ask whether a task of these roles (none: of all) runs, is due, or comes back soon."""
    return Statement(
        query="select rolecall.is_work_left(%s::bigint, %s::text[], %s::text[])",
        params=(worker_id, list(roles), list(handlers)),
        read=single,
    )


def next_due(roles: Sequence[str], handlers: Sequence[str], worker_id: int | None = None) -> Statement[float | None]:
    """Ask how many seconds pass until the earliest of these tasks is due; None if there is none.

    With a worker's id, what is not offered to it does not count.
    """
    return Statement(
        query="select rolecall.next_due_for(%s::bigint, %s::text[], %s::text[])",
        params=(worker_id, list(roles), list(handlers)),
        read=single,
    )


def ended_among(ids: Sequence[int]) -> Statement[list[int]]:
    """Find those of these tasks that are not open: they have ended, or were never there."""
    # Each by its id: a join might read all tasks.
    return Statement(
        query="select given.id from unnest(%s::bigint[]) as given (id)"
        " where (select true from rolecall.tasks as task where task.id = given.id) is null",
        params=(list(ids),),
        read=firsts,
    )


def get(task_id: int) -> Statement[Task]:
    """Read one task, open or finished; reading the answer raises TaskNotFound if there is none."""

    def read(rows: list[Row]) -> Task:
        if not rows:
            raise TaskNotFound(task_id=task_id)
        return read_task(rows[0])

    return Statement(
        query=f"select {TASK_COLUMNS} from rolecall.all_tasks where id = %s::bigint",
        params=(task_id,),
        read=read,
    )


def _read_enqueued(rows: list[Row]) -> list[Enqueued]:
    ids, deduplicated = rows[0]
    if not deduplicated:
        return list(map(Enqueued, ids))
    # Of a key that comes twice in a batch, the first was stored, unless it stood before: then each has it deduplicated.
    new: Counter[int] = Counter(ids) - Counter(deduplicated)
    return [_take(new, task_id) for task_id in ids]


def _take(new: Counter[int], task_id: int) -> Enqueued:
    new[task_id] -= 1
    return Enqueued(task_id, new[task_id] < 0)


def _read_claim(rows: list[Row]) -> tuple[list[ClaimedTask], bool]:
    return [ClaimedTask(*row[:-1]) for row in rows], bool(rows) and rows[0][-1] == "true"


def _read_claimed(rows: list[Row]) -> list[ClaimedTask]:
    return list(starmap(ClaimedTask, rows))


def _about_claims(verb: str, worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    pairs = list(claims)
    return Statement(
        query=f"select task_id, reason from rolecall.{verb}({OWNED})",
        params=(worker_id, [task_id for task_id, _ in pairs], [fence for _, fence in pairs]),
        read=by_first_column,
    )


def _about_ids(verb: str, ids: Iterable[int]) -> Statement[dict[int, str]]:
    return Statement(
        query=f"select task_id, outcome from rolecall.{verb}(%s::bigint[])",
        params=(list(ids),),
        read=by_first_column,
    )


def _read_states(rows: list[Row]) -> dict[int, TaskState]:
    return {task_id: TaskState(state) for task_id, state in rows}
