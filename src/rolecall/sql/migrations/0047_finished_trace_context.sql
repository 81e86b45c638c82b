-- breaking: no
-- What a task's trace context stays when it has ended.
alter table rolecall.finished_tasks add column trace_context text;
