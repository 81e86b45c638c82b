"""The tasks in flight in this process, from the claim's answer until the answer to their report; and how an attempt is
isolated: each runs as an asyncio task of its own, with context variables of its own.
"""

from __future__ import annotations

import asyncio
import decimal
import math
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextvars import Context, ContextVar, copy_context
from itertools import groupby
from operator import attrgetter
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
from rolecall.wake.waker import Waker

LOOKS_PER_LEASE = 4
LONGEST_WAIT = 2.0
SUSPECT_FROM = 3  # by how much the fence exceeds the attempt: a claim adds one to both, a loss one to the fence
TOO_EARLY = "the outcome of the task before it in the place of its key cannot be stored yet: this task is given back"
# Seconds after which rolecall.harmless_claims may return a claim of which the database does not know that it began.
UNSTARTED_LEASE = 10.0

T = TypeVar("T")
Place = tuple[str | None, int]  # a key, and the number of one of its slots


class Runner(Protocol):
    """Runs one handler. `interruptible`: a cancellation of the slot reaches the handler. `most`: tasks a call takes."""

    interruptible: bool
    most: int

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        """Run a task (and others like it, for a batch) to its outcome; raise only if the slot must end."""


class RunnerSlot(Protocol):
    """The slot that a task runs in, as its runner and an abort see it."""

    running: Sequence[HeldTask]

    def occupy(self, held_tasks: Sequence[HeldTask]) -> None:
        """Note which tasks the handler call is prepared for."""

    async def record_starts(self, held_tasks: Iterable[HeldTask]) -> None:
        """Wait until the database has recorded that these tasks begin; those whose claim is lost are aborted."""

    def begin(self, held_tasks: Sequence[HeldTask]) -> Sequence[HeldTask]:
        """Note that the handler is called now, and return the tasks to call it with; the others are aborted."""

    def interrupt(self) -> None:
        """Cancel the running handler, if every task it works on must stop and it can be cancelled at all."""

    def absorb(self) -> bool:
        """Take a cancellation back that an abort caused; false when somebody else cancelled the slot."""

    def take_like(self, held: HeldTask, most: int) -> list[HeldTask]:
        """Take up to `most` more tasks of the same handler."""

    def call_in_thread(self, function: Callable[..., T], *arguments: object) -> Awaitable[T]:
        """Return or raise what the function does in the slot's thread, which a cancellation does not reach."""


class HeldTask:
    """One claimed task: who runs it, since when, and what became of it. Times are monotonic seconds.

    `claimed_at` is the moment before the claim was sent, so that the lease in the database ends no earlier than
    that plus the lease. `asked_at` is the same of the last call that renewed the lease, and `lease_ends_at`
    follows from it. `free_at` is the earliest moment at which another worker may get the task, whatever the
    evidence against this worker: the end of its lease, and earlier while the database does not know that the
    task has begun (`rolecall.harmless_claims`).
    """

    __slots__ = (
        "aborted",
        "after",
        "afterwards",
        "asked_at",
        "began_at",
        "claimed_at",
        "collector",
        "committed",
        "deadline",
        "delivered_at",
        "ended",
        "expires_at",
        "finishing",
        "follows",
        "free_at",
        "given_back",
        "lease_ends_at",
        "look_at",
        "place",
        "refusal",
        "report",
        "runner",
        "slot",
        "started",
        "task",
        "traces",
        "unseen_completion",
        "worker_id",
    )

    def __init__(self, task: ClaimedTask, runner: Runner, worker_id: int, claimed_at: float) -> None:
        self.task = task
        self.place: Place | None = None if task.key_slot is None else (task.key, abs(task.key_slot))
        self.follows = (task.key_slot or 0) < 0  # its place was not free when it was claimed
        self.after: HeldTask | None = None  # the task before it in its place, until that one's outcome is stored
        self.runner = runner
        self.worker_id = worker_id
        self.claimed_at = claimed_at
        self.deadline = None if task.timeout_seconds is None else claimed_at + task.timeout_seconds
        # Whether the database has recorded that it began: an only attempt counts from its claim.
        self.started = task.max_attempts == 1 and not self.follows
        self.look_again(claimed_at)
        self.expires_at = math.inf if task.expires_seconds is None else claimed_at + task.expires_seconds
        self.delivered_at = claimed_at  # since when it waits for a slot
        self.began_at = 0.0  # until its handler is called
        self.slot: RunnerSlot | None = None
        self.aborted: LostReason | None = None
        self.ended = False  # the handler returned, raised, or is not waited for any more
        self.given_back = False  # without an outcome, for any worker to claim again
        self.finishing = False  # its row is locked by the handler's own transaction
        self.refusal: BaseException | None = None  # why no transaction of the handler's may commit any more
        self.committed = False  # a transaction of the handler's has completed it: nothing is left to report
        self.unseen_completion: Completed | None = None  # in a transaction of the handler's own, wherever that led
        self.report: Report | None = None
        self.afterwards: list[Call] | None = None  # what is to be called when its outcome is stored as completed
        self.traces: Traces = ()  # where somebody traces
        self.collector: EventCollector | None = None  # what follows from its end in a transaction of the handler's

    @property
    def must_record_start(self) -> bool:
        """Whether its start must be recorded before its handler is called.

        This holds for a task that was lost or given back at least twice without spending an attempt: it may kill its
        worker before the start is recorded, and would do so without end. It also holds where a test lets the worker
        die at a certain point, so that the number of attempts does not depend on the moment.
        """
        task = self.task
        is_suspect = task.max_attempts == 1 or task.fence - task.attempt >= SUSPECT_FROM
        return not self.started and (is_suspect or bool(failpoints.ARMED))

    @property
    def ran(self) -> float:
        """For how many seconds its handler has run; 0 if it has not begun."""
        return monotonic() - self.began_at if self.began_at else 0.0

    @property
    def is_safe(self) -> bool:
        """Whether its handler's own transaction completes it, or has: nobody else can take it then."""
        return self.finishing or self.committed

    @property
    def keeps_its_place(self) -> bool:
        """Whether it has ended and waits for its children: nothing may run in its place meanwhile."""
        report = self.report
        return isinstance(report, Completed) and report.next_tasks is not None and bool(report.next_tasks.children)

    @property
    def ends_its_line(self) -> bool:
        """Whether no task that was claimed after it for its place may begin: it keeps the place, or is given back."""
        return self.keeps_its_place or self.given_back

    def lease_ran_out(self, now: float) -> bool:
        """Whether its lease is over though its time is not: somebody else may have it."""
        return self.lease_ends_at <= now and (self.deadline is None or self.deadline > now)

    def may_begin(self, now: float) -> bool:
        """Whether nobody else can have been given it yet, and it has not expired."""
        return now < min(self.lease_ends_at, self.free_at, self.expires_at)

    def has_started(self) -> None:
        """Note that the database knows that it began."""
        self.started = True
        self.look_again(self.asked_at)

    def stop_at(self, grace: float) -> float:
        """Return when to abort its handler so that it has ended before another worker may begin.

        The handler is left `grace` seconds, but no more than a quarter of the time that the last answer gave.
        """
        return self.free_at - min(grace, (self.free_at - self.asked_at) / LOOKS_PER_LEASE)

    def look_again(self, asked_at: float) -> None:
        """Plan the next question to the database about it, after one that was asked then and answered."""
        lease = self.task.lease_seconds
        deadline = math.inf if self.deadline is None else self.deadline
        sure = lease if self.started else min(lease, UNSTARTED_LEASE)
        self.asked_at = asked_at
        self.free_at = asked_at + sure
        self.look_at = min(asked_at + sure / LOOKS_PER_LEASE, deadline)
        self.lease_ends_at = min(asked_at + lease, deadline)


def by_worker(held_tasks: Iterable[HeldTask]) -> Iterator[tuple[int, list[HeldTask]]]:
    """Group tasks by the id under which they were claimed; a worker that the roll had forgotten has more than one."""
    for worker_id, group in groupby(held_tasks, attrgetter("worker_id")):
        yield worker_id, list(group)


class InFlight:
    """Every held task by its id; read by the thread that renews, written by the loop that works."""

    def __init__(self) -> None:
        self.emptied = Waker()  # nudged when the last one was dropped
        self._awaited: list[asyncio.Future[None]] = []
        self.on_dropped: Callable[[Iterable[HeldTask]], None] | None = None
        self._held: dict[int, HeldTask] = {}
        self._last: dict[Place, HeldTask] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, held_tasks: Iterable[HeldTask]) -> list[HeldTask]:
        """Remember new ones; return the older claims on the same tasks that they replace."""
        replaced = []
        with self._lock:
            for held in held_tasks:
                older = self._held.get(held.task.id)
                if older is not None:
                    replaced.append(older)
                self._held[held.task.id] = held
                if held.place is not None:
                    # A task that got a free place follows none: the outcome of the one before it is stored.
                    held.after = self._last.get(held.place) if held.follows else None
                    self._last[held.place] = held
        return replaced

    def drop(self, held_tasks: Sequence[HeldTask]) -> None:
        """Forget them, whatever became of them, and tell whoever wants to know."""
        with self._lock:
            for held in held_tasks:
                if self._held.get(held.task.id) is held:
                    del self._held[held.task.id]
                if held.place is not None:
                    held.after = None
                    if self._last.get(held.place) is held:
                        del self._last[held.place]
        awaited, self._awaited = self._awaited, []
        for future in awaited:
            if not future.done():
                future.set_result(None)
        if self.on_dropped is not None:
            self.on_dropped(held_tasks)
        if not self._held:
            self.emptied.nudge()

    async def wait_for_turn(self, held: HeldTask) -> None:
        """Wait until the outcome of the task before `held` in its place is stored, or never will be.

        Raises HandlerAborted after LONGEST_WAIT seconds: `held` is given back and runs again later. The outcome may
        be kept back by the very transaction in which the caller waits, so a longer wait might never end.
        """
        before = held.after
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                while before is not None and self._held.get(before.task.id) is before:
                    future = asyncio.get_running_loop().create_future()
                    self._awaited.append(future)
                    await future
        except TimeoutError:
            held.aborted = held.aborted or LostReason.OUT_OF_TURN
            held.refusal = HandlerAborted(TOO_EARLY, reason=held.aborted)
            raise held.refusal from None

    def all(self) -> list[HeldTask]:
        """Return a copy that any thread may walk."""
        with self._lock:
            return list(self._held.values())


async def run_isolated(attempt: Coroutine[Any, Any, None]) -> None:
    """Run an attempt to its end in an asyncio task and a context of its own; raise what it raises.

    Cancelling the caller cancels the attempt. An attempt that ends as cancelled by its own doing does not cancel the
    caller.
    """
    try:
        await asyncio.get_running_loop().create_task(attempt, context=fresh_context())
    except asyncio.CancelledError:
        caller = asyncio.current_task()
        if caller is None or caller.cancelling():
            raise


def fresh_context() -> Context:
    """Return a copy of the current context for one attempt.

    The decimal module keeps an object in a context variable and changes it in place: a plain copy of the context would
    share it.
    """
    context = copy_context()
    arithmetic = None if DECIMAL is None else context.get(DECIMAL)
    if arithmetic is not None:
        context.run(decimal.setcontext, arithmetic.copy())
    return context


def take_back_cancellation(task: asyncio.Task[Any] | None) -> None:
    """Forget every cancellation that a task has been sent so far."""
    while task is not None and task.cancelling():
        task.uncancel()


def _find_decimal_variable() -> ContextVar[decimal.Context] | None:
    """Return the decimal module's variable, which it does not export; None where decimal uses thread-locals."""
    empty = Context()
    empty.run(decimal.getcontext)
    return next(iter(empty), None)


DECIMAL = _find_decimal_variable()
