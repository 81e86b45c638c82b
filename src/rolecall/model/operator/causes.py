"""Derives from a task's situation why it does not run, the most important cause first.

    finished, claimed, expired   a single cause
    waits for tasks or a time    followed by the causes of its key, its role and its workers
    none of these                its position in line, or that the next claim takes it

All causes of a waiting task are returned, because removing the first one may not be enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from rolecall.model.operator.why import Cause, CauseKind, KeySituation, LiveWorker, Situation
from rolecall.model.states import TaskState

# The database stops counting here.
COUNTED = 10_000
NAMED = 10
LONGEST_ERROR = 200
# Must match the engine's limit.
UNFIT_FOR = timedelta(hours=1)

RUNS = {
    CauseKind.RUNNING: "it has been running on worker {worker} since {started}",
    CauseKind.CLAIMED: "worker {worker} claimed it at {claimed} and will start it when a slot is free",
    CauseKind.STALE: "worker {worker} holds it, but its lease expired at {lease}",
}
ENDS = {
    CauseKind.RUNNING: "its handler returns, or is stopped at its deadline, {deadline}",
    CauseKind.CLAIMED: "a running task of worker {worker} finishes",
    CauseKind.STALE: "worker {worker} renews the lease, or maintenance rescues the task after {rescue}",
}


def causes_of(task: Situation) -> list[Cause]:
    """Return all causes that keep a task from running; at least one."""
    if task.finished_at is not None:
        return [_cause_finished(task, task.finished_at)]
    if task.state is TaskState.RUNNING:
        return [_cause_running(task)]
    if task.expires_at is not None and task.expires_at <= task.at:
        return [_cause_expired(task, task.expires_at)]
    held = [*_waits(task), *_time(task), *_key(task), *_role(task), *_fit(task), *_workers(task)]
    return [*held, *_expiry(task)] if held else [_claimable(task)]


def _cause_finished(task: Situation, at: datetime) -> Cause:
    advice = None if task.state is TaskState.COMPLETED else f"retry it: rolecall tasks retry {task.id}"
    text = f": {_short(task.error)}" if task.error else ""
    ended = "was cancelled" if task.state is TaskState.CANCELLED else task.state.value
    sentence = f"it {ended} at {_moment(at)}{text}"
    return Cause(kind=CauseKind.FINISHED, sentence=sentence, change=advice, since=at, error=task.error)


def _cause_running(task: Situation) -> Cause:
    stale = task.lease_until is not None and task.lease_until < task.at
    kind = CauseKind.STALE if stale else CauseKind.RUNNING if task.started_at else CauseKind.CLAIMED
    return Cause(
        kind=kind,
        sentence=RUNS[kind].format(worker=task.worker_id, **_moments(task)) + _cancellation_text(task),
        change=ENDS[kind].format(worker=task.worker_id, **_moments(task)),
        workers=() if task.worker_id is None else (task.worker_id,),
        since=task.started_at or task.claimed_at,
        until=task.rescue_from if stale else task.deadline_at,
    )


def _moments(task: Situation) -> dict[str, str]:
    moments = {
        "claimed": task.claimed_at,
        "started": task.started_at,
        "lease": task.lease_until,
        "rescue": task.rescue_from,
        "deadline": task.deadline_at,
    }
    return {name: _moment(at) for name, at in moments.items() if at is not None}


def _cancellation_text(task: Situation) -> str:
    requested_at = task.cancel_requested_at
    return "" if requested_at is None else f"; its cancellation was requested at {_moment(requested_at)}"


def _cause_expired(task: Situation, at: datetime) -> Cause:
    return Cause(
        kind=CauseKind.EXPIRED,
        sentence=f"it expired at {_moment(at)} and will not start",
        change=f"maintenance cancels it within moments; then retry it: rolecall tasks retry {task.id}",
        until=at,
    )


def _waits(task: Situation) -> Iterator[Cause]:
    if task.waits is None:
        return
    blocked = task.state is TaskState.BLOCKED
    named = ", ".join(
        f"{one.id}" if one.chain_id is None else f"{one.id} of the chain {one.chain_id}" for one in task.waits.first
    )
    number = task.waits.number
    needed = _count_text(number, "open task or chain", "open tasks or chains")
    awaited = _count_text(number, "open child", "open children")
    beyond = ", ..." if number > len(task.waits.first) else ""
    yield Cause(
        kind=CauseKind.BLOCKED if blocked else CauseKind.WAITING,
        sentence=f"{f'it needs {needed}' if blocked else f'it waits for {awaited}'} ({named}{beyond})",
        change="they finish; check why each of them does not run",
        tasks=tuple(one.id for one in task.waits.first),
        number=number,
    )


def _time(task: Situation) -> Iterator[Cause]:
    due = task.scheduled_for
    if task.state is TaskState.WAITING or due <= task.at:
        return
    kind = _delay(task)
    failed = f"attempt {task.attempt} failed{f': {_short(task.error)}' if task.error else ''}"
    text = {
        CauseKind.SNOOZED: "it was snoozed and is due again at",
        CauseKind.RETRYING: f"{failed}; the next one is due at",
        CauseKind.SCHEDULED: "it is scheduled for",
    }[kind]
    now = f"; to run it now: rolecall tasks trigger {task.id}" if task.state is TaskState.PENDING else ""
    yield Cause(
        kind=kind,
        sentence=f"{text} {_moment(due)}",
        change=f"it becomes due{now}",
        until=due,
        error=task.error if kind is CauseKind.RETRYING else None,
    )


def _delay(task: Situation) -> CauseKind:
    if task.last_event == "snoozed":
        return CauseKind.SNOOZED
    return CauseKind.RETRYING if task.attempt > 0 else CauseKind.SCHEDULED


def _key(task: Situation) -> Iterator[Cause]:
    if task.key is None:
        return
    if task.key.capacity == 0:
        yield Cause(
            kind=CauseKind.KEY_PAUSED,
            sentence=f"its key {task.key_name!r} is paused: its capacity is 0",
            change="another capacity is set",
            key=task.key_name,
        )
        return
    full = task.key.used >= task.key.capacity
    if full:
        yield _cause_key_held(task, task.key)
    if task.key.better >= max(1, task.key.capacity - task.key.used):
        yield _cause_key_wanted(task, task.key)
    elif task.parked and not full:
        yield Cause(
            kind=CauseKind.PARKED,
            sentence=f"it is parked, although its key {task.key_name!r} has free capacity now",
            change="a task of this key finishes or is enqueued",
            key=task.key_name,
        )


def _cause_key_held(task: Situation, key: KeySituation) -> Cause:
    holders = _list("task", key.holders, key.used)
    if task.one_root:
        kind, text = CauseKind.ONE_ROOT, f"the role {task.role} runs one root at a time, and {holders} is in progress"
    elif key.capacity == 1:
        kind, text = CauseKind.KEY_HELD, f"its key {task.key_name!r} is held by {holders}"
    else:
        text = f"all {key.capacity} permits of its key {task.key_name!r} are held by {holders}"
        kind = CauseKind.KEY_HELD
    return Cause(
        kind=kind,
        sentence=text,
        change="that task finishes" if key.used == 1 else "one of those tasks finishes",
        tasks=tuple(key.holders),
        number=key.used,
        key=task.key_name,
        role=task.role if task.one_root else None,
    )


def _cause_key_wanted(task: Situation, key: KeySituation) -> Cause:
    number = min(key.better, COUNTED)
    more = key.better > COUNTED
    return Cause(
        kind=CauseKind.KEY_WANTED,
        sentence=f"{_many(key.better, 'task', 'tasks')} of its key {task.key_name!r} "
        f"{'comes' if number == 1 else 'come'} first: {_list('task', key.best, len(key.best))}",
        change="they finish, or this task gets a higher priority",
        tasks=tuple(key.best),
        number=number,
        more=more,
        key=task.key_name,
    )


def _role(task: Situation) -> Iterator[Cause]:
    pause = task.pause
    if pause is None:
        return
    end = "until it is resumed" if pause.until is None else f"until {_moment(pause.until)}"
    by = f" by {pause.by}" if pause.by else ""
    yield Cause(
        kind=CauseKind.ROLE_PAUSED,
        sentence=f"its role {task.role} was paused at {_moment(pause.since)}{by} {end}",
        change=f"resume the role: rolecall roles resume {task.role}",
        role=task.role,
        since=pause.since,
        until=pause.until,
        by=pause.by,
    )


def _fit(task: Situation) -> Iterator[Cause]:
    if task.unfit_since is None:
        return
    until = task.unfit_since + UNFIT_FOR
    yield Cause(
        kind=CauseKind.UNFIT,
        sentence=f"its payload fits no worker that has claimed it; if no other release accepts it by {_moment(until)}, "
        f"it fails: {_short(task.error or 'it does not fit')}",
        change=f"start a worker whose handler {task.handler} accepts it, with other parameters or extra='ignore'",
        since=task.unfit_since,
        until=until,
        error=task.error,
    )


def _workers(task: Situation) -> Iterator[Cause]:
    live = task.workers or []
    able = [worker for worker in live if worker.able]
    taking = [worker for worker in able if worker.is_taking]
    if not live:
        yield _no_worker(task)
    elif not able:
        yield _no_handler(task, live)
    elif not taking:
        yield _not_taking(able)
    elif task.ahead is not None:
        yield from _line(task.ahead, taking)


def _no_worker(task: Situation) -> Cause:
    return Cause(
        kind=CauseKind.NO_WORKER,
        sentence=f"no live worker serves the role {task.role}",
        change=f"start one: rolecall worker --roles {task.role}",
        role=task.role,
    )


def _no_handler(task: Situation, live: Sequence[LiveWorker]) -> Cause:
    return Cause(
        kind=CauseKind.NO_HANDLER,
        sentence=f"{_list('worker', _ids(live), len(live))} {_serve(live)} the role {task.role} but "
        f"{'lacks' if len(live) == 1 else 'lack'} the handler {task.handler}",
        change=f"start a worker whose app has the handler {task.handler}",
        workers=_ids(live),
        number=len(live),
        role=task.role,
    )


def _serve(live: Sequence[LiveWorker]) -> str:
    return "serves" if len(live) == 1 else "serve"


def _not_taking(able: Sequence[LiveWorker]) -> Cause:
    text = ", ".join(f"{worker.id} ({_reluctance(worker)})" for worker in able[:NAMED])
    beyond = ", ..." if len(able) > NAMED else ""
    return Cause(
        kind=CauseKind.NOT_TAKING,
        sentence=f"the workers that could run it claim no new tasks: {text}{beyond}",
        change="resume one of them (rolecall workers resume ID), start another one, or wait until a back-off ends",
        workers=_ids(able),
        number=len(able),
    )


def _reluctance(worker: LiveWorker) -> str:
    if worker.command is not None:
        return f"command: {worker.command}"
    return f"backing off: {worker.backing_off}"


def _line(ahead: int, taking: Sequence[LiveWorker]) -> Iterator[Cause]:
    free = sum(worker.free_slots for worker in taking)
    if ahead < free:
        return
    slots = sum(worker.slots for worker in taking)
    named = f"{_count_text(slots, 'slot', 'slots')} of the workers that could run it"
    if free:
        kind, text = CauseKind.IN_LINE, f"{free} of the {named} {_is(free)} free, but"
    else:
        kind, text = CauseKind.NO_FREE_SLOT, f"the {named} {_is(slots)} busy, and"
    stand = _many(ahead, "task is", "tasks are") if ahead else "no task is"
    yield Cause(
        kind=kind,
        sentence=f"{text} {stand} ahead of it in line",
        change="tasks finish; more workers or a higher priority would bring it forward",
        workers=_ids(taking),
        number=min(ahead, COUNTED),
        more=ahead > COUNTED,
    )


def _expiry(task: Situation) -> Iterator[Cause]:
    if task.expires_at is None:
        return
    yield Cause(
        kind=CauseKind.EXPIRES,
        sentence=f"it expires at {_moment(task.expires_at)}: if it has not started by then, it is cancelled",
        change=None,
        until=task.expires_at,
    )


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _claimable(task: Situation) -> Cause:
    able = [worker for worker in task.workers or () if worker.able and worker.free_slots]
    return Cause(
        kind=CauseKind.CLAIMABLE,
        sentence="nothing prevents it from running: the next claim takes it",
        change=None,
        workers=_ids(able),
        number=task.ahead,
    )


def _ids(workers: Sequence[LiveWorker]) -> tuple[int, ...]:
    return tuple(worker.id for worker in workers[:NAMED])


def _list(noun: str, ids: Sequence[int], number: int) -> str:
    named = ", ".join(map(str, ids))
    return f"{noun}{'' if number == 1 else 's'} {named}{', ...' if number > len(ids) else ''}"


def _many(number: int, one: str, plural: str) -> str:
    return f"more than {COUNTED} {plural}" if number > COUNTED else _count_text(number, one, plural)


def _count_text(number: int, one: str, plural: str) -> str:
    return f"{number} {one if number == 1 else plural}"


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _short(error: str | None) -> str:
    line = (error or "").strip().partition("\n")[0]
    return line if len(line) <= LONGEST_ERROR else f"{line[:LONGEST_ERROR]}..."
