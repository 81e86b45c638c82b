-- breaking: no
-- What ends an attempt also says when it was claimed and when it began.
alter table rolecall.task_events
    add column claimed_at timestamptz,
    add column started_at timestamptz;
