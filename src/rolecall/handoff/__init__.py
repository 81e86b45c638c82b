"""The hand-off by Redis: workers are given ids of tasks instead of looking for them, and claim those by id.

    Postgres ──notifies──▶ Dispatcher ──push──▶ lanes in Redis ──take──▶ worker ──claim_these──▶ Postgres
        ▲                      │ ▲                    ▲                     │
        └──────offers──────────┘ └─── "half empty" ───┴──── acknowledge ────┘  when the outcome is stored

Postgres stays the truth. What lies in Redis are hints that say who should look at which row: an id that comes twice,
late, in another order or for nothing is refused by the claim, and one that is lost is offered again. So any Redis may
be emptied, restarted or replaced at any time, and no column says that a task was handed over.

`lanes`        the keys of a role and band, and the messages that lie there
`queues`       what every kind of queue promises, and which kind a server can: `streams`, `lists`, `simple`
`connections`  one process's way to the Redis of each band
`roll`         who is there: heartbeats of workers, the lock of the dispatcher that leads
`dispatcher`   reads what is due and pushes it
`reclaimer`    what dead workers left behind in Redis, and in Postgres

The worker's side is `rolecall.worker.handoff`, which stands in the place of its claims.
"""
