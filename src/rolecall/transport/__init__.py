"""How an idle worker learns about tasks: by notifications, and always by polling.

A notification is a hint. It can be lost with a connection, never arrives through a transaction pooler, and some servers
have no LISTEN. Polling alone is sufficient; notifications make it fast.

                       the claim returned too few tasks
    claiming ───────────────────────────────────────────────────▶ mark idle
        ▲                                                             │ from now on, enqueues notify
        │                                                             ▼
        │                                                        claim once more
        │                                                             │ still nothing
        │      a notification for one of its roles,                   ▼
        └───── a scheduled task that is due,      ◀───────────────  wait
               a finished task that may have freed a key,
               the poll interval (with jitter)

The order matters. An enqueue looks for idle workers before it commits. If it looked before this worker marked itself
idle, it may commit after the second claim and not notify. Therefore each wait starts with a second of quick polls (50
ms, 100 ms, 200 ms ...), and the poll interval cannot be turned off. Every wait ends with a claim, and so does every
LISTEN, because earlier notifications are lost.

Under light load a worker stays marked idle, because marking costs a write and the mark costs one NOTIFY per enqueue;
see `rolecall.worker.producer`.

`waker` waits and computes delays, `transport` defines the five channels and the interface of transports, `relay`
forwards Postgres notifications to Redis or NATS, `listener` receives notifications and reconnects,
and `brokers` connects to Redis for these and for the hand-off.
"""
