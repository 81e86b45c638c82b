"""Typed calls for claiming tasks, for writes of a claim's owner, and for rescue."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import assert_never

from rolecall.model.error_text import clean_error
from rolecall.model.errors import InvalidTask
from rolecall.model.outcomes import Blocked, Cancelled, Completed, Failed, Misfit, Report, Returned, Snoozed
from rolecall.model.states import TaskState
from rolecall.model.tasks import ClaimedTask, Offer
from rolecall.sql.encoding import NotStorable, encode, encode_text
from rolecall.sql.enqueue import need_item, next_document
from rolecall.sql.events import ENDS, RESCUED
from rolecall.sql.payload_sizes import CHECKED_FROM, check_reports
from rolecall.sql.statement import Row, Statement, single

# `payload::text` keeps the driver from decoding JSON, whatever loaders the connection has.
CLAIM_COLUMNS = (
    "id, fence, attempt, coalesce(max_attempts, 0), role, handler, priority, payload::text, key, chain_id, "
    "chain_index, scheduled_for, created_at, lease_seconds, timeout_seconds, step, parent_id, last_error, fire_time"
)
HELD_BACK = "current_setting('rolecall.held_back', true)"
CLAIM_PARAMS = "%s::bigint, %s::text[], %s::text[], %s::int, %s::int"
LONGEST_DELAY = 3e9
OWNED = "%s::bigint, %s::bigint[], %s::int[]"


def claim(
    worker_id: int, roles: Sequence[str], handlers: Sequence[str], limit: int, start: int | None = None
) -> Statement[list[ClaimedTask]]:
    """Claim up to `limit` tasks in order; no roles means all roles.

    With `start` free slots, the worker reports the start of each task. Without (None), all count as started.
    """
    return Statement(
        query=f"select {CLAIM_COLUMNS} from rolecall.claim({CLAIM_PARAMS})",
        params=(worker_id, list(roles), list(handlers), limit, start),
        read=_read_claimed,
    )


def claim_what_fits(
    worker_id: int, roles: Sequence[str], handlers: Sequence[str], limit: int, start: int, run: int = 1
) -> Statement[tuple[list[ClaimedTask], bool]]:
    """Claim tasks like `claim`, including sequences: up to `run` tasks of a key under one permit.

    Tasks that the worker already holds under the permit count. Also returns whether the next task in line waits for a
    free slot.
    """
    return Statement(
        query=(
            f"select {CLAIM_COLUMNS}, key_slot, expires_seconds, {HELD_BACK}"
            f" from rolecall.claim({CLAIM_PARAMS}, %s::int)"
        ),
        params=(worker_id, list(roles), list(handlers), limit, start, run),
        read=_read_claim,
    )


def claim_these(
    worker_id: int, ids: Sequence[int], start: int | None = None
) -> Statement[tuple[list[ClaimedTask], dict[int, str]]]:
    """Claim these tasks in this order. Also returns, for each task that was not claimed, the reason.

    With `start` free slots, the worker reports the start of each task. Without (None), all count as started. The
    reasons are those of `rolecall.claim_these`: taken, finished, unknown, blocked, waiting, not served, misfit,
    paused, not due, no free slot, key busy, not first (another task of its key comes first), busy (locked just now:
    try again), expired.
    """
    return Statement(
        query=(
            f"select {CLAIM_COLUMNS}, null::int, expires_seconds, named, verdict from ("
            "select claimed.id as named, claimed.verdict, (claimed.task).*"
            " from rolecall.claim_these(%s::bigint, %s::bigint[], %s::int) as claimed) as claimed"
        ),
        params=(worker_id, list(ids), start),
        read=_read_given,
    )


def offers(
    roles: Sequence[str], handlers: Sequence[str] | None, limit: int, *, high: int | None = None
) -> Statement[list[Offer]]:
    """List the tasks that workers may claim now, in order, at most `limit` per role; no roles means all roles.

    No handlers (None) means all handlers. With `high`, the list has at most `limit` tasks of each role with this
    priority or more, and as many with less. Nothing is claimed.
    """
    return Statement(
        query="select id, role, handler, priority, high, attempt, key, scheduled_for"
        " from rolecall.offers(%s::text[], %s::text[], %s::int, %s::int)",
        params=(list(roles), None if handlers is None else list(handlers), limit, high),
        read=lambda rows: list(starmap(Offer, rows)),
    )


def start(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Record that tasks start. Returns the lost ones with the reason, and the busy ones, which must be sent again."""
    return _about_claims("start", worker_id, claims)


def renew(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Renew the leases. Returns the tasks whose handlers must stop, with the reason."""
    return _about_claims("renew", worker_id, claims)


def find_lost(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Return the lost claims with the reason. Nothing is written."""
    return _about_claims("lost_claims", worker_id, claims)


def release(worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    """Return tasks without spending an attempt. Returns the ones that were already lost."""
    return _about_claims("release", worker_id, claims)


def finish(worker_id: int, reports: Iterable[Report]) -> Statement[dict[int, str]]:
    """Finish a batch of claims, all or nothing. Returns the claims that were not simply accepted."""
    return _finish("finish(%s::bigint, %s::jsonb)", worker_id, reports)


def finish_free(worker_id: int, reports: Iterable[Report], *, apart: bool = False) -> Statement[dict[int, str]]:
    """Finish claims like `finish`, without waiting for open transactions of others.

    Nothing is stored for claims that are returned as `busy`. Send them again, with `apart`.
    """
    return _finish("finish_free(%s::bigint, %s::jsonb, %s::boolean)", worker_id, reports, apart)


def finish_here(worker_id: int, reports: Iterable[Report]) -> Statement[dict[int, str]]:
    """Finish claims in a transaction with other writes. If any claim is returned, it was not accepted: roll back."""
    return _finish("finish_here(%s::bigint, %s::jsonb)", worker_id, reports)


def report_info(worker_id: int, task_id: int, fence: int, info: Mapping[str, object]) -> Statement[str | None]:
    """Merge facts into a running task's info. Returns None, or why the claim is lost."""
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
    """Rescue tasks whose leases expired at least `silent_for` seconds ago. Returns their new states."""
    return Statement(
        query="select task_id, state::text from rolecall.rescue(%s::int, make_interval(secs => %s::float8))",
        params=(limit, silent_for),
        read=_read_states,
        event_kinds=RESCUED,
    )


def find_expired() -> Statement[tuple[list[int], list[int], float]]:
    """Find claims with expired leases. Returns their ids, their fences, and the seconds to wait before their
    rescue.
    """
    return Statement(query="select ids, fences, wait_seconds from rolecall.find_expired()", read=_only_row)


def rescue_found(ids: Sequence[int], fences: Sequence[int]) -> Statement[dict[int, TaskState]]:
    """Rescue claims of `find_expired` that have not been renewed since. Returns the new states of the tasks."""
    return Statement(
        query="select task_id, state::text from rolecall.rescue_found(%s::bigint[], %s::int[])",
        params=(list(ids), list(fences)),
        read=_read_states,
        event_kinds=RESCUED,
    )


def expire(limit: int = 1000) -> Statement[dict[int, TaskState]]:
    """Cancel tasks that expired before they started. Returns their new states."""
    return Statement(
        query="select task_id, state::text from rolecall.expire(%s::int)",
        params=(limit,),
        read=_read_states,
        event_kinds=ENDS,
    )


def rescue_workers(worker_ids: Sequence[int], limit: int = 1000) -> Statement[dict[int, TaskState]]:
    """Rescue all tasks of dead workers and remove the workers from the registry. Returns the tasks' new states.

    The caller must have a proof of death.
    """
    return Statement(
        query="select task_id, state::text from rolecall.rescue_workers(%s::bigint[], %s::int)",
        params=(list(worker_ids), limit),
        read=_read_states,
        event_kinds=RESCUED,
    )


def rescue_harmless(worker_ids: Sequence[int], limit: int = 1000) -> Statement[dict[int, TaskState]]:
    """Rescue the tasks that may run twice from workers that are probably dead, and remove the workers from the
    registry.

    Returns the tasks' new states.
    """
    return Statement(
        query="select task_id, state::text from rolecall.rescue_harmless(%s::bigint[], %s::int)",
        params=(list(worker_ids), limit),
        read=_read_states,
        event_kinds=RESCUED,
    )


def is_work_left(worker_id: int, roles: Sequence[str], handlers: Sequence[str]) -> Statement[bool]:
    """Return whether a task of these roles (none: all roles) runs, is due, or will be due soon."""
    return Statement(
        query="select rolecall.is_work_left(%s::bigint, %s::text[], %s::text[])",
        params=(worker_id, list(roles), list(handlers)),
        read=single,
    )


def next_due(roles: Sequence[str], handlers: Sequence[str], worker_id: int | None = None) -> Statement[float | None]:
    """Return the seconds until the earliest of these tasks is due; None if there is none.

    With a worker's id, tasks that are not offered to that worker do not count.
    """
    return Statement(
        query="select rolecall.next_due_for(%s::bigint, %s::text[], %s::text[])",
        params=(worker_id, list(roles), list(handlers)),
        read=single,
    )


def _read_claim(rows: list[Row]) -> tuple[list[ClaimedTask], bool]:
    return [ClaimedTask(*row[:-1]) for row in rows], bool(rows) and rows[0][-1] == "true"


def _read_claimed(rows: list[Row]) -> list[ClaimedTask]:
    return list(starmap(ClaimedTask, rows))


def _read_given(rows: list[Row]) -> tuple[list[ClaimedTask], dict[int, str]]:
    claimed = [ClaimedTask(*row[:-2]) for row in rows if row[-1] is None]
    return claimed, {task_id: verdict for *_, task_id, verdict in rows if verdict is not None}


def _about_claims(verb: str, worker_id: int, claims: Iterable[tuple[int, int]]) -> Statement[dict[int, str]]:
    pairs = list(claims)
    return Statement(
        query=f"select task_id, reason from rolecall.{verb}({OWNED})",
        params=(worker_id, [task_id for task_id, _ in pairs], [fence for _, fence in pairs]),
        read=dict,
    )


def _finish(call: str, worker_id: int, reports: Iterable[Report], *options: object) -> Statement[dict[int, str]]:
    document = reports_document(reports)
    return Statement(
        query=f"select task_id, verdict from rolecall.{call}",
        params=(worker_id, document, *options),
        # Called for every batch of reports, so small documents skip even the call.
        check=check_reports(document) if len(document) >= CHECKED_FROM else None,
        read=dict,
        event_kinds=ENDS,
    )


def _read_states(rows: list[Row]) -> dict[int, TaskState]:
    return {task_id: TaskState(state) for task_id, state in rows}


def _only_row(rows: list[Row]) -> tuple[list[int], list[int], float]:
    [(ids, fences, seconds)] = rows
    return ids, fences, seconds


def reports_document(reports: Iterable[Report]) -> str:
    """Return the reports as a JSON array; results, which are JSON text already, are embedded."""
    return f"[{','.join(map(_report_text, reports))}]"


def _report_text(report: Report) -> str:
    match report:
        case Completed():
            result = "" if report.result_json is None else f',"result":{report.result_json}'
            following = "" if report.next_tasks is None else f',"next":{next_document(report.next_tasks)}'
            tail = f"{result}{_ran(report.ran)}{following}"
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"completed"{tail}}}'
        case Failed():
            return _failed(report)
        case Snoozed():
            tail = f"{_when(report)}{_ran(report.ran)}"
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"snoozed"{tail}}}'
        case Blocked():
            needs = encode([need_item(need, {}, 0) for need in report.needs])
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"blocked","needs":{needs}{_ran(report.ran)}}}'
        case Cancelled():
            tail = f"{_error(report.error)}{_ran(report.ran)}"
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"cancelled"{tail}}}'
        case Returned():
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"returned"}}'
        case Misfit():
            tail = f',"intake":{encode_text(report.intake)}{_error(report.error)}'
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"misfit"{tail}}}'
        case _:
            assert_never(report)


def _failed(report: Failed) -> str:
    text = f'{{"id":{report.id},"fence":{report.fence},"outcome":"failed","reason":{encode_text(report.reason)}'
    if report.final:
        text += ',"final":true'
    text += _when(report)
    return f"{text}{_error(report.error)}{_ran(report.ran)}}}"


def _error(text: str) -> str:
    return f',"error":{encode_text(clean_error(text))}' if text else ""


def _when(report: Failed | Snoozed) -> str:
    if report.at is not None:
        return f',"at":"{report.at.isoformat()}"'
    return "" if report.after is None else f',"after":{_seconds(report.after)}'


def _ran(seconds: float | None) -> str:
    return "" if seconds is None else f',"ran":{seconds:.6f}'


def _seconds(seconds: float) -> str:
    # A delay out of the engine's range would make it reject the report, and the task could never be finished.
    return f"{min(max(0.0, seconds), LONGEST_DELAY):.6f}"
