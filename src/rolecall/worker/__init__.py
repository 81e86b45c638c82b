"""The worker: takes tasks from the pool, runs their handlers, and says what became of them.

    Postgres                         one worker process                                         your code

    pool ──claim──▶ Producer ──▶ Board ──▶ Slot ──▶ Runner ─────────────call──────────────────▶ handler
                      ▲  │         │         │        │                                            │
          notification│  │demand   │room     │        │◀───────────── result, error, Snooze ───────┘
             or poll  │  └─────────┴─────────┘        ▼
                   wake.Listener                   Outcomes
                                                      │ report
    pool ◀──finish, start, release── Settler ◀────────┤
                                                      │ nothing to report: lost, or settled already
    pool ◀──renew── LeaseKeeper ──lost──▶ Aborter ──▶ Slot.interrupt ──▶ Outcomes

What happens to one task, in order:

 1. The *producer* measures demand: the free slots, plus what the busy ones will finish in the next 0.15 s
    by a moving estimate. Slow and unknown handlers get nothing beyond the free slots. It claims that many,
    in one call, on a connection of its own, while the batch before it is still running.
 2. *Delivery* puts the tasks into the *hands* (from now on their leases are kept) and on the *board*. What
    still lies there after half a second is given back: another worker may be idle.
 3. A *slot* takes it. A slot is one long-lived coroutine; it awaits an async handler directly. There is no
    coroutine, timer, context variable or log call per task: that is the difference between 20,000 and 3,000
    tasks a second. The price: a slot must let the loop turn every millisecond, and an abort cancels the
    slot, which absorbs it.
 4. The *runner* decodes the payload and calls the handler: awaited, in the slot's thread, in a process that
    can be killed (`processes`, `child`), in the database (`procedures`; `repertoire` learns of new ones while
    the worker runs), or once for many tasks. Middlewares were put around that call when the
    runner was made (`onion`); without any, there is no layer at all.
 5. *Outcomes* turns a result, a `Snooze`, a `Cancel` or an exception into a report. Whatever a handler raises
    is the failure of its task and of nothing else; so is a result that it did not promise.
 6. The *settler* sends reports in batches: at once when it has nothing to do, otherwise with the next
    flush. It repeats a flush until it is answered, and when one outcome is refused (a follow-up that is no
    task), it finds the guilty one and fails it with the reason: no task is ever unfinishable.

Beside all this the *pulse*, a thread with its own loop, renews leases and sends heartbeats, so that a
handler that blocks the worker's loop costs nobody a lease before its own deadline; what waits behind it is given
back after a second (`lag`). When the database says that a task is lost, the
*aborter* stops its handler: taken, completed or deleted tasks are dropped; cancelled ones and those over
their deadline are reported; at shutdown they are given back. A database that is away stops nothing but
what is over its deadline (and, on request, what outlives its lease): handlers go on, reports wait.

With every heartbeat the worker says how it is and hears what it is told: *orders* follows a drain, a
decommission or their end, *vitals* watches what the worker uses (`resources`, `cgroup`), and both move the *brake*,
which the producer asks before each claim.

Every write shows (task id, fence, worker id), so none of this has to be right for the pool to stay true: a
worker that is stopped, cut off, or repeats itself is told `taken` or `already`, and changes nothing.

`worker` and `farewell` are the life from start to end; `staff` puts the collaborators together; `session`
is a connection that comes back by itself; `signals`, `loop` and `supervisor` are for programs, not for
libraries.
"""

from __future__ import annotations

from rolecall.worker.context import BatchContext, Context
from rolecall.worker.options import WorkerOptions
from rolecall.worker.subprocess.context import ProcessContext
from rolecall.worker.worker import Worker

__all__ = ["BatchContext", "Context", "ProcessContext", "Worker", "WorkerOptions"]
