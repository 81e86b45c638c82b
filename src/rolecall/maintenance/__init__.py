"""What must happen again and again for the pool to stay true, whoever does it.

       worker process A          worker process B          worker process C
    ┌────────────────────┐    ┌────────────────────┐    ┌────────────────────┐
    │ rescue        5 s  │    │ rescue        5 s  │    │ ...                │
    │ deaths        5 s  │    │ deaths        5 s  │    │                    │
    │ fire          1 s  │    │ fire          1 s  │    │                    │
    │ pauses        1 s  │    │ pauses        1 s  │    │                    │
    │ counting     10 s  │    │ counting     10 s  │    │                    │
    │ history      10 s  │    │ history      10 s  │    │                    │
    │ unparking    60 s  │    │ unparking    60 s  │    │                    │
    │ housekeeping 60 s  │    │ housekeeping 60 s  │    │                    │
    └─────────┬──────────┘    └─────────┬──────────┘    └─────────┬──────────┘
              └─────────── each run skips what another one has locked ─────────▶ Postgres

There is no leader. Every duty is one engine function that skips what another process has locked and finds
nothing left to do when it comes second, so all processes may do all duties, and a duty is done as long as
one process lives. A leader would be one more thing to elect, to lose, and to wait for. Where two at once would only be
in each other's way, a row is taken: housekeeping prunes a kind (`rolecall.retention`) while it holds the kind's row, a
batch a transaction, until nothing is past its time; the row says when to look again. So does the row of
unparking, the net for tasks that are parked though their keys have room (`rolecall.unpark_pass`).

`duties`   what a duty is, and each of them: a function that does it once and says in a line what it did
`deaths`   workers that are known to be dead, by `processes` or by their sessions: their tasks wait for no lease
`cron`     when schedules run: the slots of cron expressions and intervals
`runner`   the duties together, on one connection that no handler and no claim can keep busy; and the one loop that all
           duties (and the worker's heartbeat) run in: jitter, patience, a clean stop

An error never ends a duty, let alone the worker: it is logged, and the next run comes after a growing delay.
"""
