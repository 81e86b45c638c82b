"""How a worker without work learns that there is some: notification first, polling always.

A notification is a hint. It can be lost while a connection breaks, it never arrives behind a transaction
pooler, and some servers refuse LISTEN altogether. So polling alone is always enough, and notifications only
make it quick:

                       claim came back short: the worker is dry
    claiming ───────────────────────────────────────────────────▶ mark idle
        ▲                                                             │ from now on an enqueue notifies
        │                                                             ▼
        │                                                        claim once more
        │                                                             │ still nothing
        │      a notification for one of my roles,                    ▼
        └───── a scheduled task that became due,  ◀───────────────  wait
               own work that may have freed something,
               the poll interval (with jitter)

The order matters. An enqueue looks for idle workers before it commits: one that looked before this worker
had marked itself has perhaps not yet committed when the worker claims once more, and it will not notify.
That is why the first second of every wait polls quickly (50 ms, 100 ms, 200 ms ...), and why the poll
interval is never turned off. Every wait that ends, for whatever reason, ends in a claim; so does every
LISTEN, because what was sent while the listener was away is gone.

`waker`     one wait, and the nudges that end it early (`Waker`); how long the next one may last (`Pace`); the delays
            between attempts to come back (`Backoff`, used by everything that reconnects)
`transport` what carries notifications, the five channels, and what a transport promises: little, and that it knows
            when it is deaf: `redis`, `nats`, `in_process`, and LISTEN, below the listener; `choice` makes one
`relay`     passes on what Postgres notifies to Redis or NATS: workers there need no connection that listens
`listener`  hears by any transport, knows whether anything arrives, and comes back by itself

A worker stays marked idle as long as only light load comes, since marking costs a write and an idle mark
costs others one NOTIFY an enqueue; see `rolecall.worker.producer` for when it changes its mind.
"""
