"""Workers claim tasks, run their handlers and write the outcomes.

    Postgres                         one worker process                                         your code

    tasks ──claim──▶ Producer ─▶ LocalQueue ─▶ Slot ──▶ Runner ──────────call──────────────────▶ handler
                       ▲  │         │           │         │                                         │
           notification│  │demand   │room       │         │◀──────────── result, error, Snooze ─────┘
              or poll  │  └─────────┴───────────┘         ▼
                    wake.Listener                      Outcomes
                                                          │ report
    tasks ◀──finish, start, release── Completer ◀─────────┤
                                                          │ nothing to report: lost, or already finished
    tasks ◀──renew── LeaseKeeper ──lost──▶ Aborter ──▶ Slot.interrupt ──▶ Outcomes

The producer claims tasks for the free slots, plus those that busy slots will probably start within 0.15 s. A claimed
task is *held*: its lease is renewed until its outcome is stored or it is returned. Tasks that have not started after
half a second are returned, because another worker may be idle.

The heartbeat thread has its own event loop, so a handler that blocks the worker's loop does not cost any leases.
Every write includes the task id, the fence and the worker id. The database ignores the writes of a worker that has
lost its claim, or that repeats a write.

`worker` and `shutdown` implement the life cycle. `wiring` creates and connects the parts: start reading there.
`signals`, `loop` and `supervisor` are for programs, not for libraries.
"""
