"""A task as it is asked for, with what it needs, as it is claimed, and as it is read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypedDict, Unpack

from rolecall.model.dedupe import Dedupe
from rolecall.model.durations import Duration
from rolecall.model.errors import InvalidTask
from rolecall.model.reading import KnowsResult, ReadsResult
from rolecall.model.retry import RetryPolicy
from rolecall.model.states import TaskState

__all__ = [
    "Child",
    "ChildRule",
    "Claim",
    "ClaimedTask",
    "Dependent",
    "Enqueued",
    "IdempotencyKey",
    "Need",
    "NeedRule",
    "Needed",
    "NewTask",
    "NextTasks",
    "Offer",
    "Task",
    "TaskOptions",
    "TaskSummary",
    "TreeNode",
]

if TYPE_CHECKING:
    # Type checkers bring it along; Python has the default from 3.13 on.
    from typing_extensions import TypeVar

    R_co = TypeVar("R_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    R_co = TypeVar("R_co", covariant=True)

ChildRule = Literal["fail_parent", "ignore", "cancel_siblings"]
NeedRule = Literal["fail", "ignore"]


class TaskOptions(TypedDict, total=False):
    """What can be said of a task besides its handler and payload; see NewTask."""

    role: str | None
    priority: int
    scheduled_for: datetime | None
    after: Duration | None
    key: str | None
    dedupe_key: str | None
    dedupe: Dedupe | None
    max_attempts: int | None
    retry: RetryPolicy | None
    timeout: Duration | None
    expires: Duration | datetime | None
    needs: Sequence[Need | int | Enqueued | NewTask]
    on_failure: ChildRule | None


class TaskChanges(TaskOptions, total=False):
    """What can be changed of a task that is made already."""

    handler: str | None
    payload: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask(Generic[R_co]):
    """A task to enqueue. `NewTask[R]` has a handler that returns an R, for type checkers.

    At least one of `handler` and `role` is needed; the database fills in the other. `after` is a delay,
    `scheduled_for` a moment instead (with a time zone); what lies in the past means now. `max_attempts` of 0 is no
    limit, `timeout` how long an attempt may take. No attempt begins after it `expires`, so long after it is due or at
    a moment: what has not begun by then is cancelled. Durations are seconds or timedeltas. What it `needs` must have
    finished before it may run; `on_failure` says what its failure does to its parent and siblings, if it is a child.
    Where a task stands with the same `dedupe_key`, `dedupe` says what is done; without it, an open one is kept.
    `trace_context` is the trace that it is asked for in: a W3C traceparent, and after a space its tracestate, if any.
    `returns` reads its result; a handler's `task()` sets it.
    """

    handler: str | None = None
    role: str | None = None
    payload: Mapping[str, object] = field(default_factory=dict)
    priority: int = 0
    scheduled_for: datetime | None = None
    after: Duration | None = None
    key: str | None = None
    dedupe_key: str | None = None
    dedupe: Dedupe | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    timeout: Duration | None = None
    expires: Duration | datetime | None = None
    needs: Sequence[Need | int | Enqueued | NewTask] = ()
    on_failure: ChildRule | None = None
    trace_context: str | None = None
    returns: ReadsResult | None = field(default=None, compare=False, repr=False)

    def options(self, **changes: Unpack[TaskChanges]) -> NewTask[R_co]:
        """Return the same task with some fields changed: `task.options(priority=5, key="store:7")`."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Enqueued(KnowsResult, Generic[R_co]):
    """The answer to one enqueue: the task's id, and whether the task existed already; its handler returns an R."""

    id: int
    deduplicated: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that must have finished first.

        report.task(day="monday").options(needs=[sales, Need(stock, name="stock", on_failure="ignore")])

    `task` is an id, what an enqueue answered, or a task that stands earlier in the same batch. With
    `chain=True` the whole chain that begins with it is needed. Where what is needed fails or is cancelled,
    the task that needs it fails too, or runs all the same (`ignore`).
    """

    task: int | Enqueued | NewTask
    name: str | None = None
    chain: bool = False
    on_failure: NeedRule = "fail"


class Claim(NamedTuple):
    """The proof of ownership that every write after a claim shows, next to the worker's id."""

    id: int
    fence: int


# A tuple, not a dataclass: thousands are built a second, straight from the rows of `rolecall.claim`.
class ClaimedTask(NamedTuple):
    """A task as a worker receives it; the fields stand in the order of the claim's columns.

    `payload_json` is the payload's JSON text, not decoded yet. Lease and timeout are seconds; a timeout of
    None is no limit. `max_attempts` of 0 is no limit. `step` counts the times that its children have finished;
    `last_error` is that of the attempt before. `key_slot` is the place of its key that it holds, where the
    worker may hold several tasks for one, to run them one after another; negative: it follows others there. The task
    must begin within `expires_seconds` of its claim, or not at all; None is no limit.
    """

    id: int
    fence: int
    attempt: int
    max_attempts: int
    role: str
    handler: str
    priority: int
    payload_json: str
    key: str | None
    chain_id: int
    chain_index: int
    scheduled_for: datetime
    created_at: datetime
    lease_seconds: float
    timeout_seconds: float | None
    step: int = 0
    parent_id: int | None = None
    last_error: str | None = None
    key_slot: int | None = None
    expires_seconds: float | None = None

    @property
    def claim(self) -> Claim:
        """What to show with every write about this task."""
        return Claim(self.id, self.fence)

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """What to show to systems outside, whichever attempt this is."""
        return IdempotencyKey(f"{self.id}:{self.step}")


class Offer(NamedTuple):
    """A task that may be claimed: `attempt` is the one that would begin, `high` says which of two bands it is in."""

    id: int
    role: str
    handler: str
    priority: int
    high: bool
    attempt: int
    key: str | None
    scheduled_for: datetime


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task, open or finished, without what can be megabytes; what is read are the columns of its fields.

    `state` is stored; `status` is the finer name that people use (scheduled, ready, stale, retrying ...).
    `max_attempts` of None is no limit. No attempt begins from `expires_at` on.
    """

    id: int
    state: TaskState
    status: str
    role: str
    handler: str
    priority: int
    info: dict[str, Any] | None
    error: str | None
    key: str | None
    dedupe_key: str | None
    attempt: int
    max_attempts: int | None
    fence: int
    worker_id: int | None
    chain_id: int
    chain_index: int
    scheduled_for: datetime
    created_at: datetime
    claimed_at: datetime | None
    started_at: datetime | None
    lease_until: datetime | None
    deadline_at: datetime | None
    cancel_requested_at: datetime | None
    finished_at: datetime | None
    origin_id: int | None
    parent_id: int | None
    depth: int
    open_children: int
    open_needs: int
    step: int
    on_failure: ChildRule
    timeout: float | None
    expires_at: datetime | None

    @property
    def is_finished(self) -> bool:
        """True when nothing will run for this task any more."""
        return self.state.is_finished


@dataclass(frozen=True, slots=True)
class Task(TaskSummary, Generic[R_co]):
    """One whole row of the pool: the summary, its payload and its result.

    `Task[R]` is read by the `Enqueued[R]` of a handler that returns an R: `result` is an R once the task has completed,
    and None before. A task that is read by its id has its result as JSON values. A result that could not
    be stored is an UnstoredResult, one that does not fit the declared type an UnreadableResult.
    """

    payload: dict[str, Any]
    result: R_co


@dataclass(frozen=True, slots=True, kw_only=True)
class Child(Generic[R_co]):
    """What became of a child; if it continued its chain, the last task of the chain speaks for it.

    `Child[R]` is one of `ctx.children(handler)`: the result of a completed one is an R. Without a handler, results are
    JSON values. An UnstoredResult or UnreadableResult raises an error where it is used.
    """

    id: int
    handler: str
    state: TaskState
    payload: dict[str, Any]
    result: R_co
    info: dict[str, Any] | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed(Generic[R_co]):
    """What became of one need, in the order in which they were declared.

    `outcome` is None while it is open. For a chain, result and error are those of its last task. Results are as in
    Child.
    """

    name: str | None
    task_id: int
    chain: bool
    outcome: TaskState | None
    handler: str | None
    result: R_co
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A task that needs another, or a whole chain; `outcome` is None while that is open, so that it waits for it."""

    task_id: int
    chain_id: int
    role: str
    handler: str
    state: TaskState
    name: str | None
    needed_id: int
    chain: bool
    outcome: TaskState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A task within the tree below another; `depth` counts from that one, 0 is itself."""

    id: int
    parent_id: int | None
    depth: int
    handler: str
    state: TaskState
    info: dict[str, Any] | None
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None


class IdempotencyKey(str):
    """The key of one step of one task, as text; called with a suffix, that of one request among several.

    await charge(order, idempotency_key=ctx.idempotency_key)
    await notify(order, idempotency_key=ctx.idempotency_key("mail"))

    It is the same at every attempt, also after a snooze or a retry by hand, and differs in the step after the children.
    """

    __slots__ = ()

    def __call__(self, suffix: str) -> str:
        """Return the key of one request of this step; another suffix is another request."""
        return f"{self}:{suffix}"


@dataclass(slots=True, kw_only=True)
class NextTasks:
    """Collects what a handler asks for, until its task is completed.

    Follow-ups start chains of their own; the continuation is the next task of this chain. Children make the
    task wait for them; siblings are children of the task's own parent. `gathers` says that the handler has a
    gather step, which runs when the last child has finished, or at once after a first step without children;
    `trace_context` is that of all but the continuation.
    """

    follow_ups: list[NewTask] = field(default_factory=list)
    continuation: NewTask | None = None
    children: list[NewTask] = field(default_factory=list)
    siblings: list[NewTask] = field(default_factory=list)
    serial: bool = False
    gathers: bool = False
    trace_context: str | None = None

    def continue_with(self, task: NewTask) -> None:
        """Set the continuation; raise InvalidTask for a second one, or where there are children."""
        if self.continuation is not None:
            raise InvalidTask("a task is continued once: its chain goes on with one task")
        if self.children:
            raise InvalidTask("a task with children continues its chain in the step after them")
        self.continuation = task

    def spawn(self, tasks: tuple[NewTask, ...], *, serial: bool) -> None:
        """Add children; raise InvalidTask where others of the other kind, or a continuation, stand."""
        if self.children and self.serial != serial:
            raise InvalidTask("the children of one task are all serial or all concurrent")
        if self.continuation is not None and tasks:
            raise InvalidTask("a task with children continues its chain in the step after them")
        self.children.extend(tasks)
        self.serial = serial
