"""Tasks: to enqueue (with needs), as claimed by a worker, and as read back."""

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

if TYPE_CHECKING:
    # Type checkers bundle typing_extensions; Python has TypeVar's default from 3.13 on.
    from typing_extensions import TypeVar

    R_co = TypeVar("R_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    R_co = TypeVar("R_co", covariant=True)

ChildRule = Literal["fail_parent", "ignore", "cancel_siblings"]
NeedRule = Literal["fail", "ignore"]


class TaskOptions(TypedDict, total=False):
    """The options of a task besides its handler and payload; see NewTask."""

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
    """The fields that `NewTask.options` can change."""

    handler: str | None
    payload: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask(Generic[R_co]):
    """A task to enqueue. For type checkers, the handler of a `NewTask[R]` returns an R.

    At least one of `handler` and `role` is required; the database derives the other. `after` is a delay and
    `scheduled_for` a moment with a time zone; a time in the past means now. `max_attempts` of 0 means unlimited.
    `timeout` limits one attempt. `expires` is a duration after the task becomes due, or a moment; a task that has not
    started by then is cancelled. Durations are seconds or timedeltas. `needs` must have finished before the task can
    run. `on_failure` decides what the failure of a child does to its parent and siblings. `dedupe` decides what
    happens if a task with the same `dedupe_key` exists; by default, an open one is kept. `trace_context` is a W3C
    traceparent, optionally followed by a space and a tracestate. `returns` reads the result; a handler's `task()`
    sets it.
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
    """The result of an enqueue: the task's id, and whether the task already existed. Its handler returns an R."""

    id: int
    deduplicated: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """A task or chain that must finish before another task can run.

        report.task(day="monday").options(needs=[sales, Need(stock, name="stock", on_failure="ignore")])

    `task` is an id, the result of an enqueue, or an earlier task of the same batch. With `chain=True`, the whole
    chain that starts with it is needed. If what is needed fails or is cancelled, the task fails as well, or runs
    anyway (`ignore`).
    """

    task: int | Enqueued | NewTask
    name: str | None = None
    chain: bool = False
    on_failure: NeedRule = "fail"


class Claim(NamedTuple):
    """The proof of ownership that every write after a claim presents, along with the worker's id."""

    id: int
    fence: int


# A tuple instead of a dataclass, because thousands per second are created from the rows of `rolecall.claim`.
class ClaimedTask(NamedTuple):
    """A task as a worker receives it; the fields are in the order of the claim's columns.

    `payload_json` is JSON text that is not decoded yet. Lease and timeout are in seconds; a timeout of None and a
    `max_attempts` of 0 mean unlimited. `step` counts how often its children have finished; `last_error` is that of
    the previous attempt. `key_slot` is its permit if the worker may hold a sequence; it is negative for all but the
    first of a sequence. The task must start within `expires_seconds` of its claim; None means unlimited.
    `fire_time` is the time that its schedule planned; None if no schedule created it.
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
    fire_time: datetime | None = None
    key_slot: int | None = None
    expires_seconds: float | None = None

    @property
    def claim(self) -> Claim:
        return Claim(self.id, self.fence)

    @property
    def planned_for(self) -> datetime:
        """The fire time, or the time at which this attempt was due."""
        return self.fire_time or self.scheduled_for

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """A key for requests to other systems; it is the same for all attempts."""
        return IdempotencyKey(f"{self.id}:{self.step}")


class Offer(NamedTuple):
    """A task that may be claimed: `attempt` is the one that would start, `high` is its priority band."""

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
    """A task, open or finished, without payload and result. The fields are also the columns that are read.

    `state` is stored; `status` is derived (scheduled, ready, stale, retrying ...). `max_attempts` of None means
    unlimited. No attempt starts after `expires_at`. `fire_time` is the time for which a schedule created the task.
    `error_group` is the group of a failed task.
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
    fire_time: datetime | None
    error_group: int | None

    @property
    def is_finished(self) -> bool:
        """True if the task will not run again."""
        return self.state.is_finished


@dataclass(frozen=True, slots=True)
class Task(TaskSummary, Generic[R_co]):
    """A task with its payload and its result.

    A `Task[R]` is read by the `Enqueued[R]` of a handler that returns an R: `result` is an R once the task has
    completed, and None before. A task that is read by its id has its result as JSON values. A result that was not
    stored is an UnstoredResult, one that does not fit the declared type an UnreadableResult.
    """

    payload: dict[str, Any]
    result: R_co


@dataclass(frozen=True, slots=True, kw_only=True)
class Child(Generic[R_co]):
    """A child's outcome. If the child continued its chain, it is that of the chain's last task.

    `Child[R]` comes from `ctx.children(handler)`: the result of a completed one is an R. Without a handler, results
    are JSON values. Using an UnstoredResult or UnreadableResult raises an error.
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
    """The outcome of one need; needs are in the order of declaration.

    `outcome` is None while it is open. For a chain, result and error are those of its last task. Results are typed as
    in Child.
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
    """A task that needs another task or a chain; `outcome` is None while that is open and the task waits for it."""

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
    """A task in the tree below another; `depth` is relative to that task, which has depth 0."""

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
    """The key of one step of one task, as text. Call it with a suffix to get the key of one of several requests.

    await charge(order, idempotency_key=ctx.idempotency_key)
    await notify(order, idempotency_key=ctx.idempotency_key("mail"))

    It is the same for every attempt, also after a snooze or a manual retry, and different in the step after the
    children.
    """

    __slots__ = ()

    def __call__(self, suffix: str) -> str:
        """Return the key of one request of this step; each suffix has its own key."""
        return f"{self}:{suffix}"


@dataclass(slots=True, kw_only=True)
class NextTasks:
    """Collects the tasks that a handler requests, until its task is completed.

    Follow-ups start chains of their own; the continuation is the next task of this chain. The task waits for its
    children; siblings are children of its own parent. `gathers` is true if the handler has a gather step, which runs
    when the last child has finished, or at once after a first step without children. `trace_context` applies to all
    but the continuation.
    """

    follow_ups: list[NewTask] = field(default_factory=list)
    continuation: NewTask | None = None
    children: list[NewTask] = field(default_factory=list)
    siblings: list[NewTask] = field(default_factory=list)
    serial: bool = False
    gathers: bool = False
    trace_context: str | None = None

    def continue_with(self, task: NewTask) -> None:
        """Set the continuation. Raises InvalidTask if there is one already, or if the task has children."""
        if self.continuation is not None:
            raise InvalidTask("a task can be continued only once")
        if self.children:
            raise InvalidTask("a task with children can continue its chain only in the step after them")
        self.continuation = task

    def spawn(self, tasks: tuple[NewTask, ...], *, serial: bool) -> None:
        """Add children. Raises InvalidTask if there are children of the other kind, or a continuation."""
        if self.children and self.serial != serial:
            raise InvalidTask("the children of one task must be all serial or all concurrent")
        if self.continuation is not None and tasks:
            raise InvalidTask("a task with children can continue its chain only in the step after them")
        self.children.extend(tasks)
        self.serial = serial
