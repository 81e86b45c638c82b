"""Dispatch through Redis: workers receive task ids and claim those tasks, instead of looking for due ones.

    Postgres ──notifies──▶ Dispatcher ──push──▶ lanes in Redis ──take──▶ worker ──claim_these──▶ Postgres
        ▲                      │ ▲                    ▲                     │
        └──────offers──────────┘ └─── "half empty" ───┴──── acknowledge ────┘  when the outcome is stored

Only Postgres is authoritative. Redis contains hints: an id that is repeated, late, out of order or stale is rejected by
the claim, and a lost one is offered again. Redis can be emptied, restarted or replaced at any time.

`lanes` defines the keys and messages, `queues` the protocol of the three kinds of queues (`streams`, `lists`,
`simple`), `connections` the connections of a process, and `roll` the heartbeats of workers and the lock of the leading
dispatcher. `reclaimer` cleans up after dead workers. `rolecall.worker.handoff` is the worker's side.
"""
