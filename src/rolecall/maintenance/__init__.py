"""What must happen again and again for the pool to stay true, whoever does it.

       worker process A              worker process B             worker process C
    ┌─────────────────────┐       ┌────────────────────┐       ┌────────────────────┐
    │ did the last duty:  │       │ looks now and then │       │ looks now and then │
    │ looks when the next │       │ whether one is due │       │ whether one is due │
    │ is due              │       │                    │       │                    │
    └──────────┬──────────┘       └─────────┬──────────┘       └─────────┬──────────┘
               └─ a duty that is due is begun with its row of `rolecall.duties` locked, which others skip ─▶ Postgres

    rescue, deaths      every  5 s of the pool                 schedules   when one is due
    counting, history   every 10 s                             pauses      when one is over
    unparking, housekeeping    60 s                             expiry      when a task has expired

There is no leader. A duty is a row that says when it comes next. Whoever finds it due takes it in the same statement
that begins it: a process that dies or fails there leaves it due, and nobody waits for another. So a pool of any size
does each duty once, and asks for little: who did the last one looks at the next moment at which something is due, a
second later at most; the others look the more rarely the more there are, together twice a second, so that one of them
goes on when that one has ended. A duty itself skips what is locked and finds nothing left to do when it comes second,
so a worker of a release that knows no rows does no harm beside. Housekeeping prunes a kind (`rolecall.retention`)
while it holds the kind's row, a batch a transaction, until nothing is past its time; the row says when to look again.
So does the row of unparking, the net for tasks that are parked though their keys have room (`rolecall.unpark_pass`).

`duties`    what a duty is, and each of them: a function that does it once and says in a line what it did
`deaths`    workers that are known to be dead, by `processes` or by their sessions: their tasks wait for no lease.
            Each process looks at those of its own machine itself, every 5 s, without the database
`cron`      when schedules run: the slots of cron expressions and intervals
`runner`    when to look, and the duties that are due, on one connection that no handler and no claim can keep busy
`periodic`  the one loop that looks (and the worker's heartbeat) run in: jitter, patience, a clean stop

An error never ends a duty, let alone the worker: it is logged and recorded in the duty's row, which the doctor and the
metrics read, and the next run comes after a growing delay, or before that in another process.
"""
