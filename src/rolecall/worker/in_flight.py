"""The tasks that this process holds, and the isolation of attempts from each other."""

from __future__ import annotations

import asyncio
import decimal
import math
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextvars import Context, ContextVar, copy_context
from time import monotonic
from typing import Any, Protocol, TypeVar

from rolecall.config import failpoints
from rolecall.db.after_commit import Call
from rolecall.model.errors import HandlerAborted
from rolecall.model.outcomes import Completed, Report
from rolecall.model.states import LostReason
from rolecall.model.tasks import ClaimedTask
from rolecall.sql.events import EventCollector
from rolecall.telemetry.tracing import Traces

RENEWALS_PER_LEASE = 4
LONGEST_WAIT = 2.0
SUSPECT_FROM = 3  # fence minus attempt: a claim increments both, a loss increments only the fence
OUT_OF_TURN = "the outcome of the previous task in the sequence of its key cannot be stored yet: this task is returned"
# Seconds after which rolecall.harmless_claims may return a claim whose start is not recorded.
UNSTARTED_LEASE = 10.0

T = TypeVar("T")
Permit = tuple[str | None, int]  # a key and the number of one of its permits


class Runner(Protocol):
    """Runs one handler.

    `interruptible`: cancelling the slot cancels the handler. `max_tasks`: the number of tasks that one call takes.
    """

    interruptible: bool
    max_tasks: int

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        """Run a task (for a batch handler, with others) until it has an outcome. Raises only if the slot must end."""


class RunnerSlot(Protocol):
    """The slot of a task, as its runner and the aborter see it."""

    running_tasks: Sequence[HeldTask]

    def occupy(self, held_tasks: Sequence[HeldTask]) -> None:
        """Record the tasks for which a handler call is being prepared."""

    async def record_starts(self, held_tasks: Iterable[HeldTask]) -> None:
        """Wait until the database has recorded the start of these tasks. Mark tasks with a lost claim as aborted."""

    def begin(self, held_tasks: Sequence[HeldTask]) -> Sequence[HeldTask]:
        """Record that the handler is about to be called; return the tasks to call it with. The others are aborted."""

    def interrupt(self) -> None:
        """Cancel the running handler if it can be cancelled and all of its tasks must stop."""

    def absorb(self) -> bool:
        """Undo a cancellation by an abort; return False if the slot itself is cancelled."""

    def take_like(self, held: HeldTask, most: int) -> list[HeldTask]:
        """Take up to `most` more tasks of the same handler."""

    def call_in_thread(self, function: Callable[..., T], *arguments: object) -> Awaitable[T]:
        """Call a function in the slot's thread. A cancellation does not stop it."""


class HeldTask:
    """A claimed task, its progress and its outcome. Times are in monotonic seconds.

    `claimed_at` is the time before the claim was sent, so the lease in the database does not end before `claimed_at`
    plus the lease. `renewal_sent_at` is the same for the last renewal; `lease_ends_at` is derived from it. `free_at` is
    the earliest time at which another worker may get the task: the end of the lease, or earlier while the start of
    the task is not recorded (`rolecall.harmless_claims`). Its handler must not be called at `start_before` or later,
    because the task has expired or another worker may get it.

    `must_record_start` means that the start must be recorded before the handler is called: for a task that was lost or
    returned at least twice without spending an attempt, because it may kill its worker before the start is recorded,
    and would do so forever. Also for a single attempt that is part of a sequence, and while failpoints are armed, so
    that the number of attempts in a test does not depend on timing.
    """

    __slots__ = (
        "abort_reason",
        "after_commit_calls",
        "began_at",
        "claimed_at",
        "collector",
        "deadline",
        "delivered_at",
        "expires_at",
        "free_at",
        "has_ended",
        "is_behind",
        "is_committed",
        "is_finishing",
        "is_given_back",
        "is_started",
        "lease_ends_at",
        "must_record_start",
        "permit",
        "predecessor",
        "refusal",
        "renew_at",
        "renewal_sent_at",
        "report",
        "runner",
        "slot",
        "start_before",
        "task",
        "traces",
        "unseen_completion",
        "worker_id",
    )

    def __init__(self, task: ClaimedTask, runner: Runner, worker_id: int, claimed_at: float) -> None:
        self.task = task
        self.permit: Permit | None = None if task.key_slot is None else (task.key, abs(task.key_slot))
        self.is_behind = (task.key_slot or 0) < 0  # its permit was not free at the claim
        self.predecessor: HeldTask | None = None  # in the sequence, until its outcome is stored
        self.runner = runner
        self.worker_id = worker_id
        self.claimed_at = claimed_at
        self.deadline = None if task.timeout_seconds is None else claimed_at + task.timeout_seconds
        # Whether the start is recorded. A task with a single attempt has spent it with the claim.
        self.is_started = task.max_attempts == 1 and not self.is_behind
        is_suspect = task.max_attempts == 1 or task.fence - task.attempt >= SUSPECT_FROM
        self.must_record_start = not self.is_started and (is_suspect or bool(failpoints.ARMED))
        self.expires_at = math.inf if task.expires_seconds is None else claimed_at + task.expires_seconds
        self.plan_renewal(claimed_at)
        self.delivered_at = claimed_at  # when it began to wait for a slot
        self.began_at = 0.0  # 0 until the handler is called
        self.slot: RunnerSlot | None = None
        self.abort_reason: LostReason | None = None
        self.has_ended = False  # the handler returned or raised, or is no longer awaited
        self.is_given_back = False  # returned without an outcome
        self.is_finishing = False  # the handler's own transaction has locked its row
        self.refusal: BaseException | None = None  # why the handler's transactions must roll back
        self.is_committed = False  # completed by the handler's transaction: nothing to report
        self.unseen_completion: Completed | None = None  # in a foreign transaction, which may have rolled back
        self.report: Report | None = None
        self.after_commit_calls: list[Call] | None = None
        self.traces: Traces = ()  # empty without tracing
        self.collector: EventCollector | None = None  # collects the events of its completion

    @property
    def run_seconds(self) -> float:
        return monotonic() - self.began_at if self.began_at else 0.0

    @property
    def is_safe(self) -> bool:
        """Whether the handler's own transaction is completing or has completed it. No other worker can take it then."""
        return self.is_finishing or self.is_committed

    @property
    def keeps_permit(self) -> bool:
        """Whether it waits for its children. Nothing may run under its permit meanwhile."""
        report = self.report
        return isinstance(report, Completed) and report.next_tasks is not None and bool(report.next_tasks.children)

    @property
    def ends_sequence(self) -> bool:
        """Whether the rest of its sequence must not start, because it keeps its permit or was returned."""
        return self.keeps_permit or self.is_given_back

    def lease_ran_out(self, now: float) -> bool:
        """Whether its lease has expired before its deadline, so that another worker may have it."""
        return self.lease_ends_at <= now and (self.deadline is None or self.deadline > now)

    def record_started(self) -> None:
        self.is_started = True
        self.must_record_start = False
        self.plan_renewal(self.renewal_sent_at)

    def stop_at(self, grace: float) -> float:
        """Return when to abort the handler so that it has ended before another worker may start the task.

        The handler gets `grace` seconds, but at most a quarter of the time that the last answer granted.
        """
        return self.free_at - min(grace, (self.free_at - self.renewal_sent_at) / RENEWALS_PER_LEASE)

    def plan_renewal(self, sent_at: float) -> None:
        """Plan the next renewal after one that was sent at `sent_at` and answered."""
        lease = self.task.lease_seconds
        deadline = math.inf if self.deadline is None else self.deadline
        sure = lease if self.is_started else min(lease, UNSTARTED_LEASE)
        self.renewal_sent_at = sent_at
        self.free_at = sent_at + sure
        self.renew_at = min(sent_at + sure / RENEWALS_PER_LEASE, deadline)
        self.lease_ends_at = min(sent_at + lease, deadline)
        self.start_before = min(self.lease_ends_at, self.free_at, self.expires_at)


class InFlight:
    """The held tasks by id. The worker's loop changes it, the heartbeat thread reads it.

    The lease keeper looks at the tasks at `next_look_at`, or earlier if `wake_keeper` is called. With `renews_all`, it
    then renews all leases. `notified_at` is the time of the latest notification of cancelled tasks.
    """

    def __init__(self) -> None:
        self.next_look_at = math.inf
        self.notified_at = -math.inf
        self.renews_all = False
        self.wake_keeper: Callable[[], None] | None = None
        self._drop_futures: list[asyncio.Future[None]] = []
        self.on_dropped: Callable[[Iterable[HeldTask]], None] | None = None
        self._held: dict[int, HeldTask] = {}
        self._last_by_permit: dict[Permit, HeldTask] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, held_tasks: Iterable[HeldTask]) -> list[HeldTask]:
        """Add tasks; return the earlier claims on the same tasks that they replace."""
        replaced, is_urgent = [], False
        with self._lock:
            for held in held_tasks:
                older = self._held.get(held.task.id)
                if older is not None:
                    replaced.append(older)
                self._held[held.task.id] = held
                if held.claimed_at <= self.notified_at:
                    # This task may have been cancelled during its claim.
                    self.renews_all = True
                is_urgent = is_urgent or self.renews_all or held.renew_at < self.next_look_at
                if held.permit is not None:
                    # A task that got a free permit has no predecessor: the outcome before it is stored.
                    held.predecessor = self._last_by_permit.get(held.permit) if held.is_behind else None
                    self._last_by_permit[held.permit] = held
        if is_urgent and self.wake_keeper is not None:
            self.wake_keeper()
        return replaced

    def drop(self, held_tasks: Sequence[HeldTask]) -> None:
        with self._lock:
            for held in held_tasks:
                if self._held.get(held.task.id) is held:
                    del self._held[held.task.id]
                if held.permit is not None:
                    held.predecessor = None
                    if self._last_by_permit.get(held.permit) is held:
                        del self._last_by_permit[held.permit]
        awaited, self._drop_futures = self._drop_futures, []
        for future in awaited:
            if not future.done():
                future.set_result(None)
        if self.on_dropped is not None:
            self.on_dropped(held_tasks)

    async def wait_until_empty(self) -> None:
        while self._held:
            await self._wait_for_drop()

    async def wait_for_turn(self, held: HeldTask) -> None:
        """Wait until the outcome of the predecessor in the sequence is stored or given up.

        Raises HandlerAborted after LONGEST_WAIT seconds: the task is returned and runs again later. A longer wait might
        never end, because the caller's own transaction may be what blocks that outcome.
        """
        before = held.predecessor
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                while before is not None and self._held.get(before.task.id) is before:
                    await self._wait_for_drop()
        except TimeoutError:
            held.abort_reason = held.abort_reason or LostReason.OUT_OF_TURN
            held.refusal = HandlerAborted(OUT_OF_TURN, reason=held.abort_reason)
            raise held.refusal from None

    async def _wait_for_drop(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._drop_futures.append(future)
        await future

    def all(self) -> list[HeldTask]:
        with self._lock:
            return list(self._held.values())


async def run_isolated(attempt: Coroutine[Any, Any, None]) -> None:
    """Run an attempt in its own asyncio task and context, and raise its error.

    Cancelling the caller cancels the attempt. An attempt that cancels itself does not cancel the caller.
    """
    try:
        await asyncio.get_running_loop().create_task(attempt, context=fresh_context())
    except asyncio.CancelledError:
        caller = asyncio.current_task()
        if caller is None or caller.cancelling():
            raise


def fresh_context() -> Context:
    """Return a copy of the current context for one attempt.

    The decimal module stores a mutable object in a context variable. A plain copy of the context would share it.
    """
    context = copy_context()
    arithmetic = None if DECIMAL is None else context.get(DECIMAL)
    if arithmetic is not None:
        context.run(decimal.setcontext, arithmetic.copy())
    return context


def uncancel_all(task: asyncio.Task[Any] | None) -> None:
    while task is not None and task.cancelling():
        task.uncancel()


def _find_decimal_variable() -> ContextVar[decimal.Context] | None:
    """Return the decimal module's private context variable; None where decimal uses thread-locals."""
    empty = Context()
    empty.run(decimal.getcontext)
    return next(iter(empty), None)


DECIMAL = _find_decimal_variable()
