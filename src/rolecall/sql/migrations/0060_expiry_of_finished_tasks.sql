-- breaking: no
-- Until when a task that has ended could have begun.
alter table rolecall.finished_tasks add column expires_at timestamptz;
