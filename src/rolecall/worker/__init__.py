"""The worker: takes tasks from the pool, runs their handlers, and says what became of them.

    Postgres                         one worker process                                         your code

    pool ──claim──▶ Producer ─▶ LocalQueue ─▶ Slot ──▶ Runner ──────────call──────────────────▶ handler
                      ▲  │         │           │         │                                         │
          notification│  │demand   │room       │         │◀──────────── result, error, Snooze ─────┘
             or poll  │  └─────────┴───────────┘         ▼
                   wake.Listener                      Outcomes
                                                         │ report
    pool ◀──finish, start, release── Completer ◀─────────┤
                                                         │ nothing to report: lost, or finished already
    pool ◀──renew── LeaseKeeper ──lost──▶ Aborter ──▶ Slot.interrupt ──▶ Outcomes

What happens to one task, in order:

 1. The *producer* measures demand: the free slots, plus what the busy ones will finish in the next 0.15 s
    by a moving estimate. Slow and unknown handlers get nothing beyond the free slots. It claims that many,
    in one call, on a connection of its own, while the batch before it is still running.
 2. Its *delivery* takes the tasks *in flight* (from now on their leases are kept) and puts them into the *local queue*.
    What still lies there after half a second is given back: another worker may be idle.
 3. A *slot* takes it. A slot is one long-lived coroutine; it awaits an async handler directly. There is no
    coroutine, timer, context variable or log call per task: that is the difference between 20,000 and 3,000
    tasks a second. The price: a slot must let the loop turn every millisecond, and an abort cancels the
    slot, which absorbs it. The slot begins the task, which is reported to the database, when the handler is about to be
    called (`slot`).
 4. The *runner*, which the *handler registry* found for the task at its claim, decodes the payload and calls the
    handler: awaited, in the slot's thread, in a process that can be killed (`subprocess`), in the database
    (`procedures`; the registry learns of new ones while the worker runs), or once for many tasks. Middlewares were
    chained around that call when the runner was made; without any, there is no layer at all.
 5. *Outcomes* turns a result, a `Snooze`, a `Cancel` or an exception into a report. Whatever a handler raises
    is the failure of its task and of nothing else; so is a result that breaks its contract.
 6. The *completer* sends reports in batches: at once when it has nothing to do, otherwise with the next
    flush. It repeats a flush until it is answered. When the database rejects an outcome for its content (a follow-up
    for an unknown role), the completer finds it and fails its task with the reason. An outcome that the server cannot
    store now is kept and sent again: `rolecall.model.sqlstates` tells the two apart.

Beside all this the *heartbeat thread*, with its own loop, renews leases and sends heartbeats, so that a
handler that blocks the worker's loop costs nobody a lease before its own deadline; what waits behind it is
given back after a second (`LagWatch`). When the database says that a task is lost, the *aborter* stops its
handler: taken, completed or deleted tasks are dropped; cancelled ones and those over their deadline are
reported; at shutdown they are given back. A database that is away stops nothing but what is over its deadline
(and, on request, what outlives its lease): handlers go on, reports wait.

With every heartbeat the worker says how it is and hears what it is told: `commands` follows a drain, a
decommission or their end, the *resource monitor* watches what the worker uses, and both set the *claim
limit*, which the producer asks before each claim.

Every write shows (task id, fence, worker id), so none of this has to be right for the pool to stay true: a
worker that is stopped, cut off, or repeats itself is told `taken` or `already`, and changes nothing.

`worker` and `shutdown` are the life from start to end; `wiring` makes the parts and connects them: begin
there to see who calls whom. `registration` is the worker's entry in the roll, `session` a connection that
comes back by itself, `reporting` what the log says. `signals`, `loop` and `supervisor` are for programs, not
for libraries.
"""
