"""Maintenance duties: rescue, schedules, retention and other regular jobs of the system.

       worker process A              worker process B             worker process C
    ┌─────────────────────┐       ┌────────────────────┐       ┌────────────────────┐
    │ did the last duty:  │       │ checks now and     │       │ checks now and     │
    │ checks when the     │       │ then whether one   │       │ then whether one   │
    │ next one is due     │       │ is due             │       │ is due             │
    └──────────┬──────────┘       └─────────┬──────────┘       └─────────┬──────────┘
               └─ a due duty starts with its row of `rolecall.duties` locked; others skip it ─▶ Postgres

There is no leader. A duty is a row with the time of its next run. A process takes a due duty in the same statement
that starts its work, so a duty stays due if that process dies or fails. The process that did the last duty checks
at the next due time, at the latest after a second. The others check less often the more there are, together about
twice a second, to take over when it ends. Duties skip locked rows and are harmless if they run twice.

Errors never stop the worker: they are logged, recorded in the duty's row for the doctor and the metrics, and the
duty is retried after a growing delay, or earlier by another process.
"""
