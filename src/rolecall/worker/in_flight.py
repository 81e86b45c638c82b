"""The tasks in this process's hands: from the claim's answer until the answer to their report."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rolecall.wake.waker import Waker

if TYPE_CHECKING:
    from rolecall.model.outcomes import Report
    from rolecall.model.states import LostReason
    from rolecall.model.tasks import ClaimedTask
    from rolecall.worker.runners import Runner
    from rolecall.worker.slots import Slot

LOOKS_PER_LEASE = 4


class Held:
    """One claimed task: who runs it, since when, and what became of it. Times are monotonic seconds.

    `claimed_at` is the moment at which the database was asked for it: the lease that it gave is no shorter than from
    there on. `lease_ends_at` says until when the task was surely this worker's, by the last answer about it.
    """

    __slots__ = (
        "aborted",
        "began_at",
        "claimed_at",
        "deadline",
        "delivered_at",
        "ended",
        "finishing",
        "lease_ends_at",
        "look_at",
        "refusal",
        "report",
        "runner",
        "settled",
        "slot",
        "started",
        "task",
        "worker_id",
    )

    def __init__(self, task: ClaimedTask, runner: Runner, worker_id: int, claimed_at: float, *, started: bool) -> None:
        self.task = task
        self.runner = runner
        self.worker_id = worker_id
        self.claimed_at = claimed_at
        self.deadline = None if task.timeout_seconds is None else claimed_at + task.timeout_seconds
        self.look_again(claimed_at)
        self.started = started  # the database knows that it began
        self.delivered_at = claimed_at  # since when it waits for a slot
        self.began_at = 0.0  # until its handler is called
        self.slot: Slot | None = None
        self.aborted: LostReason | None = None
        self.ended = False  # the handler returned, raised, or is not waited for any more
        self.finishing = False  # its row is locked by the handler's own transaction
        self.refusal: BaseException | None = None  # why no transaction of the handler's may commit any more
        self.settled = False  # a transaction of the handler's has completed it: nothing is left to report
        self.report: Report | None = None

    @property
    def is_safe(self) -> bool:
        """Whether its handler's own transaction completes it, or has: nobody else can take it then."""
        return self.finishing or self.settled

    def look_again(self, asked_at: float) -> None:
        """Plan the next question to the database about it, after one that was asked then and answered."""
        lease = self.task.lease_seconds
        deadline = math.inf if self.deadline is None else self.deadline
        self.look_at = min(asked_at + lease / LOOKS_PER_LEASE, deadline)
        self.lease_ends_at = min(asked_at + lease, deadline)


def by_worker(several: Iterable[Held]) -> Iterator[tuple[int, list[Held]]]:
    """Group tasks by the id under which they were claimed; a worker that the roll had forgotten has more than one."""
    for worker_id, group in groupby(several, attrgetter("worker_id")):
        yield worker_id, list(group)


class Hands:
    """Every held task by its id; read by the thread that renews, written by the loop that works."""

    def __init__(self) -> None:
        self.emptied = Waker()  # nudged when the last one was dropped
        self._held: dict[int, Held] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, several: Iterable[Held]) -> list[Held]:
        """Remember new ones; return the older claims on the same tasks that they replace."""
        replaced = []
        with self._lock:
            for held in several:
                older = self._held.get(held.task.id)
                if older is not None:
                    replaced.append(older)
                self._held[held.task.id] = held
        return replaced

    def drop(self, several: Iterable[Held]) -> None:
        """Forget them, whatever became of them."""
        with self._lock:
            for held in several:
                if self._held.get(held.task.id) is held:
                    del self._held[held.task.id]
        if not self._held:
            self.emptied.nudge()

    def find(self, task_id: int) -> Held | None:
        return self._held.get(task_id)

    def all(self) -> list[Held]:
        """Return a copy that any thread may walk."""
        with self._lock:
            return list(self._held.values())
